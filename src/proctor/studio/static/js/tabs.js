/** One tab edits an assignment; a second one opens read-only and may take over. */

import { pageLock } from "./outbox.js";

/**
 * Claim the assignment for this tab. Without Web Locks (plain http on a network, old browsers) every tab edits and the
 * server's 409 protects.
 * @param {string} pid
 * @param {{onOwn: () => void, onOther: () => void}} then called once each time this tab wins or loses the assignment
 * @returns {{takeOver: () => void}}
 */
export function claim(pid, then) {
  const name = pageLock(pid);
  /** @param {LockOptions} options */
  const hold = (options) => {
    navigator.locks
      .request(name, options, (lock) => {
        if (!lock) {
          then.onOther();
          return undefined;
        }
        then.onOwn();
        return new Promise(() => {}); // Held until the tab ends or another one steals it.
      })
      .catch(() => then.onOther());
  };
  if (!navigator.locks) {
    then.onOwn();
    return { takeOver: then.onOwn };
  }
  hold({ ifAvailable: true });
  return { takeOver: () => hold({ steal: true }) };
}
