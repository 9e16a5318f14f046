"""Training samples from an accepted problem: the prompt and its answer."""

from soliloquy.recipes.recipe import Lesson, TrainingMessage
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_papers.mathwell.answers import WrittenProblem
from soliloquy_papers.mathwell.prompting import writing


def lessons(conversation: Conversation) -> list[Lesson]:
    """Returns the one sample; an imported problem is as good as one that was written here, if it has its function."""
    if "def solution(" not in conversation.problem.solution:
        raise Refused("the problem has no function solution(): import rows with their programs")
    return [Lesson(turn=1, prompt=_prompt(conversation), answer=_answer(conversation))]


def dialogue(conversation: Conversation) -> list[TrainingMessage]:
    """Returns the single prompt and its answer as a chat."""
    asked = [TrainingMessage(role, text, turn=1) for role, text in _prompt(conversation).said]
    return [*asked, TrainingMessage("assistant", _answer(conversation), turn=1, learned=True)]


def _prompt(conversation: Conversation) -> Prompt:
    return writing(conversation.problem, conversation.run.prompts)


def _answer(conversation: Conversation) -> str:
    problem = conversation.problem
    return WrittenProblem.written(question=problem.question, function=f"```python\n{problem.solution}\n```")
