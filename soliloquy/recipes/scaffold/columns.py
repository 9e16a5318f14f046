"""How the recipe's labels are shown."""

from soliloquy.recipes.labels import Column

COLUMNS = {
    "enrichment.plan.questions": Column(title="The plan", text="{number}. {question} {answer}", asks="question"),
    "enrichment.plan.refused_because": Column(title="Why the verifier refuses the plan", text="{}"),
    "conversation.session": Column(title="Whether the judge would keep it", text="{ruling}: {because}"),
    "conversation.session.ruling": Column(title="the judge would keep it", heading="Would the judge keep it"),
    "turn.sub_question": Column(title="sub-question"),
    "student.learner_state": Column(title="state", heading="What messages were to show", drawn="to show: {}"),
    "student.misconception.because": Column(title="misconception", misconception=True),
    "tutor.learner_state": Column(title="learner state", heading="What messages show"),
}
