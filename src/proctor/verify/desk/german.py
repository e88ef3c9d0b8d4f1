"""The texts that a project begins with, in German. Authors change them as they like; nothing here is read afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proctor.exam.card import GENERAL
from proctor.exam.kinds.moment_question import JUDGING
from proctor.verify.desk.documents import DEFAULT_CONSENT

__all__ = ["IN_GERMAN"]

_GENERAL: Final = """\
Sie beurteilen Fragen, aus denen eine Prüfung werden soll, und die Antworten, die dafür vorgeschlagen sind.

# Eine Aufgabe, Schritt für Schritt

1. **Sehen Sie sich an, was gezeigt wird:** die Aufnahme, die Quellen oder das Bild. Nichts anderes zählt.
2. **Beurteilen Sie die Frage.**
3. Ist die Frage richtig, **beurteilen Sie jeden Vorschlag** für sich. Wo es Auswahlmöglichkeiten gibt, steht bei jeder, ob
   sie richtig oder falsch sein soll: Sagen Sie *Ja*, wenn das stimmt.
4. **Ergänzen Sie Antworten**, die richtig sind und fehlen, wo die Seite danach fragt.
5. Geben Sie ab. Was Sie abgegeben haben, können Sie ändern, bis die Koordination diesen Teil der Arbeit schließt.

# Eine Frage ist richtig, wenn alles davon zutrifft

- **Sie lässt sich mit dem Gezeigten beantworten,** und nicht ohne es.
- **Sie verlangt nichts von außen.**
- **Sie ist eindeutig.**
- **Sie ist natürlich, klar und grammatisch richtig.**

Trifft eines davon nicht zu, ist die Frage falsch. Ihre Antworten müssen Sie dann nicht beurteilen.

# Eine Antwort ist richtig, wenn

- sie nach dem Gezeigten wahr ist und
- sie die gestellte Frage beantwortet, und zwar vollständig, wenn die Frage nach allem fragt.

Eine Antwort, die etwas Wahres und etwas Falsches nennt, ist falsch. Der Stil ist gleichgültig, solange Sie sie verstehen.

# Wenn Sie nicht urteilen können

Wählen Sie *Nicht beurteilbar*, wenn etwas nicht abgespielt wird, ein Text fehlerhaft ist oder Sie etwas nicht sehen möchten.
Die Aufgabe geht an die Koordination zurück und wird Ihnen nicht angelastet. Sind Sie nur unsicher, entscheiden Sie sich für das
Wahrscheinlichere.

Arbeiten Sie allein. Suchen Sie das Material nicht anderswo und fragen Sie keinen Chat-Assistenten: Wir brauchen Ihr Urteil.
"""
_MOMENT: Final = """\
Sie sehen, wie eine Person einen Ablauf ausführt, zum Beispiel nach einem Rezept kocht. Die Aufnahme hält in einem Moment
an. In diesem Moment stellt die Person eine Frage. Sie entscheiden, ob die Frage gut ist und welche Antworten darauf richtig
sind.

# Eine Aufgabe, Schritt für Schritt

1. **Sehen Sie sich den Ausschnitt bis zum Ende an.** Er hält im Moment der Frage an. Nichts nach diesem Moment zählt.
2. **Lesen Sie die Schritte.** Der Ablaufgraph zeigt, welche Schritte getan sind, welcher gerade läuft, welche noch kommen
   und wo etwas schiefging. Ein Schritt darf erst nach allen Schritten getan werden, die zu ihm führen.
3. **Beurteilen Sie die Frage.**
4. Ist die Frage richtig, **beurteilen Sie jede Antwort** für sich.
5. **Ergänzen Sie Antworten**, die richtig sind und fehlen.
6. Geben Sie ab. Was Sie abgegeben haben, können Sie ändern, bis die Koordination diesen Teil der Arbeit schließt.

# Eine Frage ist richtig, wenn alles davon zutrifft

- **Sie verlangt beide Quellen.** Weder der Ausschnitt allein noch die Anleitung allein reicht, um sie zu beantworten.
- **Es geht um den Ablauf:** Schritte, ihre Reihenfolge, Mengen, Werkzeuge, Zeit, Fehler.
- **Sie verlangt nichts von außen.** Wer nur den Ausschnitt und die Anleitung kennt, kann sie beantworten.
- **Sie ist natürlich, klar und grammatisch richtig.** Wer mit dieser Arbeit beschäftigt ist, könnte so fragen.

Trifft eines davon nicht zu, ist die Frage falsch. Ihre Antworten müssen Sie dann nicht beurteilen.

# Eine Antwort ist richtig, wenn

- sie nach Ausschnitt und Anleitung in diesem Moment wahr ist und
- sie die gestellte Frage beantwortet und
- eine hilfsbereite Person sie so geben könnte, wie sie dasteht.

Eine Antwort muss nicht vollständig sein, wenn sie nützt: Können drei Schritte als Nächstes kommen, ist jeder der drei eine
richtige Antwort. Eine Antwort, die etwas Wahres und etwas Falsches nennt, ist falsch. Der Stil ist gleichgültig, solange Sie
sie verstehen.

Wurde ein Fehler gemacht, gehen Sie von dem aus, was wirklich geschah. Ein Schritt, der falsch getan wurde, ist getan; ob man ihn nachbessern muss, hängt vom Fehler ab.

# Ihre eigenen Antworten

Schreiben Sie eine Antwort je Zeile, als ganzen Satz, so wie Sie es der Person sagen würden. Schreiben Sie nur Antworten, die
fehlen. Zwei Formulierungen derselben Antwort sind eine Antwort.

# Wenn Sie nicht urteilen können

Wählen Sie *Nicht beurteilbar*, wenn der Ausschnitt nicht läuft, ein Text fehlerhaft ist oder Sie den Ausschnitt nicht sehen möchten. Die
Aufgabe geht an die Koordination zurück und wird Ihnen nicht angelastet. Sind Sie nur unsicher, entscheiden Sie sich für das
Wahrscheinlichere.

Arbeiten Sie allein. Suchen Sie die Aufnahme oder ihre Annotationen nicht anderswo und fragen Sie keinen Chat-Assistenten: Wir
brauchen Ihr Urteil.
"""
_CONSENT: Final = """\
Bitte lesen Sie dies, bevor Sie beginnen. Ist etwas unklar, fragen Sie die Person, die Sie eingeladen hat.

# Was Sie tun

Sie sehen kurze Ausschnitte, in denen Menschen einen Ablauf ausführen, und beurteilen Fragen und Antworten dazu. Pausen können
Sie machen, wann Sie möchten.

# Was wir speichern

- Ihre Urteile, die Antworten und Notizen, die Sie schreiben, wann Sie sie abgegeben haben und wie lange Sie an jeder Aufgabe
  aktiv waren.
- Ihren Anmeldenamen, Ihren angezeigten Namen und, wenn Sie eine angegeben haben, Ihre E-Mail-Adresse. Diese Angaben werden getrennt von Ihren Urteilen aufbewahrt, die stattdessen einen zufälligen Code tragen.

# Was veröffentlicht werden kann

Urteile und Antworten, die Sie schreiben, können als Teil eines öffentlichen Datensatzes für die Forschung veröffentlicht
werden, unter dem zufälligen Code und nie unter Ihrem Namen. Bitte schreiben Sie in Antworten und Notizen nichts über sich
selbst oder über andere Menschen.

# Ihre Rechte

Die Teilnahme ist freiwillig. Sie können jederzeit aufhören, ohne einen Grund zu nennen. Ihre Einwilligung können Sie auf der
Seite *Mein Konto* widerrufen: Ihr Name, Ihr Anmeldename und Ihre E-Mail-Adresse werden dann entfernt und Ihre Urteile nicht
mehr verwendet. Was vorher veröffentlicht wurde, lässt sich nicht zurückholen.

# Die Menschen in den Ausschnitten

Diese Menschen haben zugestimmt, für die Forschung aufgenommen zu werden. Kopieren und teilen Sie die Ausschnitte nicht, und beschreiben Sie
nicht, wie die Menschen aussehen.
"""

IN_GERMAN: Final[Mapping[str, str]] = {
    GENERAL.guideline: _GENERAL,
    JUDGING.guideline: _MOMENT,
    DEFAULT_CONSENT: _CONSENT,
}
"""The German version of each English text; a kind that brings its own text has none."""
