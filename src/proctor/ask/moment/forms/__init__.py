"""Surface forms of questions: what can be said, kept apart from when it may be said."""

from proctor.ask.moment.forms.form import Form, Rendered, forms_of, render_question

__all__ = ["Form", "Rendered", "forms_of", "render_question"]
