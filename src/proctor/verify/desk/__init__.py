"""Where people's work is kept: items, assignments, drafts, responses, cases, people, events."""
