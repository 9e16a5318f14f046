"""Keeps who takes part in a project of annotation or of teaching, and as whom the results name them."""

from collections.abc import Collection

from sqlalchemy import Connection, insert, select, update

from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.refusals import Code, Refusal


class Participants:
    def __init__(self, database: Database, letter: str) -> None:
        """Each pseudonym begins with the letter."""
        self._database = database
        self._letter = letter

    def has_joined(self, connection: Connection, project: str, person: str) -> bool:
        table = self._database["participants"]
        own = table.c.project == project, table.c.person == person
        return connection.execute(select(table.c.pseudonym).where(*own)).first() is not None

    def join(self, connection: Connection, project: str, person: str) -> None:
        """Gives a person, who agrees to the terms with it, a pseudonym; a repeat changes nothing."""
        if self.has_joined(connection, project, person):
            return
        table = self._database["participants"]
        taken = connection.execute(select(table.c.pseudonym).where(table.c.project == project)).scalars().all()
        number = max((int(name[1:]) for name in taken), default=0) + 1
        values = {"project": project, "person": person, "pseudonym": f"{self._letter}{number}"}
        connection.execute(insert(table).values(values | {"joined": self._database.now(connection)}))

    def admit(self, connection: Connection, project: str, person: str, terms: str) -> None:
        """Raises a Refusal for terms that a person has not agreed to; joins them to a project without terms."""
        if not terms:
            self.join(connection, project, person)
        elif not self.has_joined(connection, project, person):
            raise Refusal(Code.NOT_NOW, "you have not agreed to the project's terms: agree first")

    def pseudonyms(self, connection: Connection, project: str) -> dict[str, str]:
        table = self._database["participants"]
        rows = connection.execute(select(table.c.person, table.c.pseudonym).where(table.c.project == project))
        return {row.person: row.pseudonym for row in rows}

    def forget(self, connection: Connection, projects: Collection[str], person: str) -> None:
        """Forgets whose a pseudonym was; nobody else gets it."""
        table = self._database["participants"]
        own = table.c.person == person, table.c.project.in_(projects)
        connection.execute(update(table).where(*own).values(person=""))
