"""A hub on this machine: speaks as much of the Hugging Face hub's HTTP API as its library needs for a dataset."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

# Larger files, and those of these types, go to the store of large files first.
INLINE_BYTES = 4096
LARGE = (".parquet",)
_REPOSITORY = r"/api/datasets/(?P<name>[^/]+/[^/]+)"


@dataclass(kw_only=True)
class Repository:
    private: bool
    commits: list[Mapping[str, bytes]] = field(default_factory=lambda: [{}])

    @property
    def files(self) -> Mapping[str, bytes]:
        return self.commits[-1]

    @property
    def sha(self) -> str:
        return f"{len(self.commits):040x}"


@dataclass(kw_only=True)
class FakeHub:
    # By token, the account that may write; others with a token may read what is private.
    writers: frozenset[str] = frozenset({"hf_writer"})
    readers: frozenset[str] = frozenset({"hf_reader"})
    repositories: dict[str, Repository] = field(default_factory=dict)
    # The store of large files, by SHA-256.
    objects: dict[str, bytes] = field(default_factory=dict)
    # The paths of large files and of files in commits, in the order of their arrival.
    uploads: list[str] = field(default_factory=list)
    url: str = ""


class Refusal(Exception):
    def __init__(self, status: int, code: str = "", **told: str) -> None:
        super().__init__(status)
        self.status, self.code, self.told = status, code, told


@contextmanager
def serving() -> Iterator[FakeHub]:
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        do_HEAD = do_POST = do_PUT = do_GET

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get("transfer-encoding") == "chunked":
                body = b"".join(self._chunks())
            token = self.headers.get("authorization", "").removeprefix("Bearer ")
            path = unquote(urlsplit(self.path).path)
            headers: dict[str, str] = {}
            try:
                content, headers = _Request(hub, self.command, path, body, token).answer()
                status = 200
            except Refusal as refusal:
                content, status = json.dumps({"error": "refused"} | refusal.told).encode(), refusal.status
                headers = {"x-error-code": refusal.code} if refusal.code else {}
            self.send_response(status)
            for name, value in ({"content-length": str(len(content))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def _chunks(self) -> Iterator[bytes]:
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        hub.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


class _Request:
    def __init__(self, hub: FakeHub, method: str, path: str, body: bytes, token: str) -> None:
        self._hub, self._method, self._path, self._body, self._token = hub, method, path, body, token

    def answer(self) -> tuple[bytes, dict[str, str]]:
        for method, pattern, answer in (
            ("POST", r"/api/repos/create", self._create),
            ("POST", r"/api/validate-yaml", lambda: {"errors": [], "warnings": []}),
            ("GET", rf"{_REPOSITORY}(/revision/(?P<revision>\w+))?", self._info),
            ("GET", rf"{_REPOSITORY}/tree/(?P<revision>\w+)", self._tree),
            ("POST", rf"{_REPOSITORY}/preupload/main", self._preupload),
            ("POST", rf"{_REPOSITORY}/commit/main", self._commit),
            ("POST", r"/datasets/(?P<name>[^/]+/[^/]+)\.git/info/lfs/objects/batch", self._batch),
            ("PUT", r"/objects/(?P<oid>[0-9a-f]{64})", self._put),
        ):
            if method == self._method and (found := re.fullmatch(pattern, self._path)):
                return json.dumps(answer(**found.groupdict())).encode(), {"content-type": "application/json"}
        if found := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/(\w+)/(.+)", self._path):
            return self._file(*found.groups())
        raise Refusal(404)

    def _create(self) -> Any:
        wanted = json.loads(self._body)
        name = f"{wanted['organization']}/{wanted['name']}"
        self._require_writer()
        url = f"{self._hub.url}/datasets/{name}"
        if name in self._hub.repositories:
            raise Refusal(409, url=url)
        private = wanted.get("private") or wanted.get("visibility") == "private"
        self._hub.repositories[name] = Repository(private=private)
        return {"url": url}

    def _require_writer(self) -> None:
        if not self._token:
            raise Refusal(401)
        if self._token not in self._hub.writers:
            raise Refusal(403 if self._token in self._hub.readers else 401)

    def _repository(self, name: str) -> Repository:
        found = self._hub.repositories.get(name)
        if found is None or (found.private and self._token not in self._hub.writers | self._hub.readers):
            # As the hub does, which says nothing of what others have.
            raise Refusal(404 if self._token else 401, "RepoNotFound")
        return found

    def _info(self, name: str, revision: str | None = None, **_: str) -> Any:
        found = self._repository(name)
        siblings = [{"rfilename": path} for path in found.files]
        return {"id": name, "sha": found.sha, "private": found.private, "siblings": siblings, "tags": []}

    def _tree(self, name: str, revision: str) -> Any:
        return [
            {"type": "file", "path": path, "size": len(content), "oid": git_oid(content), **_large(path, content)}
            for path, content in self._repository(name).files.items()
        ]

    def _preupload(self, name: str) -> Any:
        files = self._repository(name).files
        self._require_writer()
        return {
            "files": [
                {
                    "path": one["path"],
                    "uploadMode": "lfs" if is_large(one["path"], one["size"]) else "regular",
                    "shouldIgnore": False,
                    "oid": oid(one["path"], files[one["path"]]) if one["path"] in files else None,
                }
                for one in json.loads(self._body)["files"]
            ]
        }

    def _batch(self, name: str) -> Any:
        self._require_writer()
        return {
            "transfer": "basic",
            "objects": [
                one
                if one["oid"] in self._hub.objects
                else one | {"actions": {"upload": {"href": f"{self._hub.url}/objects/{one['oid']}"}}}
                for one in json.loads(self._body)["objects"]
            ],
        }

    def _put(self, oid: str) -> Any:
        assert hashlib.sha256(self._body).hexdigest() == oid
        self._hub.objects[oid] = self._body
        self._hub.uploads.append(oid)
        return {}

    def _commit(self, name: str) -> Any:
        self._require_writer()
        repository = self._repository(name)
        files = dict(repository.files)
        for line in self._body.splitlines():
            match json.loads(line):
                case {"key": "file", "value": value}:
                    files[value["path"]] = base64.b64decode(value["content"])
                    self._hub.uploads.append(value["path"])
                case {"key": "lfsFile", "value": value}:
                    files[value["path"]] = self._hub.objects[value["oid"]]
                case {"key": "deletedFile", "value": value}:
                    del files[value["path"]]
        repository.commits.append(files)
        url = f"{self._hub.url}/datasets/{name}/commit/{repository.sha}"
        return {"commitUrl": url, "commitOid": repository.sha, "success": True}

    def _file(self, name: str, revision: str, path: str) -> tuple[bytes, dict[str, str]]:
        repository = self._repository(name)
        if path not in repository.files:
            raise Refusal(404, "EntryNotFound")
        content = repository.files[path]
        return content, {"etag": f'"{oid(path, content)}"', "x-repo-commit": repository.sha}


def is_large(path: str, size: int) -> bool:
    return size > INLINE_BYTES or path.endswith(LARGE)


def _large(path: str, content: bytes) -> dict[str, Any]:
    if not is_large(path, len(content)):
        return {}
    return {"lfs": {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}}


def oid(path: str, content: bytes) -> str:
    return hashlib.sha256(content).hexdigest() if is_large(path, len(content)) else git_oid(content)


def git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
