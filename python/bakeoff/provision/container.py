"""Servers from container images, by podman or docker where one is there.

A server in a container is a server like any other: bakeoff makes its data, writes its configuration and its accounts,
and watches its processes. The image's own start script is passed by. So that figures are those of a server outside:

    --network=host             a port mapped through NAT would cost processor time; the server listens on loopback
    -v FOLDER:FOLDER           the instance's folder under its own name; no data in the image's overlay
    --user, --cap-drop=all     the account that servers have, and nothing more
    --pids-limit, --ulimit     as many threads and files as a server outside has

`run` never pulls: an image comes with `bakeoff systems install KIND --image NAME`, and is run by the id that it had
when its name was looked up. A container's client dies with us, the container itself does not; so each bears its
instance's folder as a label, the folder's record names the runtime, and whoever clears the folder away removes what
bears the label.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.installation import Installation, Named, Sources
from bakeoff.provision.process import ServerProcess, run_to_end, server_account

RUNTIMES = ("podman", "docker")
_LABEL = "bakeoff.instance"
_TIMEOUT_S = 60.0
#: More than any server starts; some kernels refuse to hand on a limit as high as their own.
_THREADS_MAX = 32_768


def runtime() -> str:
    """The first that works. Raises ServerError, with what each said."""
    said = []
    for name in RUNTIMES:
        if shutil.which(name) is None:
            continue
        done = _ask(name, "version")
        if done.returncode == 0:
            return name
        said.append(f"{name} reported: {_last_line(done)}")
    because = f" ({'; '.join(said)})" if said else ""
    raise ServerError(f"neither podman nor docker works here{because}", hint="install podman, or start by `version`")


def pull(image: str) -> str:
    """Fetches an image; returns its digest. Raises ServerError."""
    _refuse_option(image)
    name = runtime()
    done = subprocess.run([name, "pull", image], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerError(f"{name} could not pull {image}: {_last_words(done.stderr)}", hint=_pull_hint(image))
    return _inspected(name, image, "")[1]


def _pull_hint(image: str) -> str:
    """A short name is looked for in no registry that the machine's settings do not name."""
    registry, slash, _ = image.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        return "check the name, the network, and whether the registry needs a login"
    return f'name the registry, too: "docker.io/library/{image}"' if not slash else f'such as "docker.io/{image}"'


@dataclass(frozen=True)
class ImageInstallation(Installation):
    """Programs in an image; `program` and its companions are found by the image's own PATH."""

    runtime: str = ""
    image: str = ""  # by id

    @property
    def moved(self) -> bool:
        return False

    def tool(self, *names: str) -> Path | None:
        return Path(names[0])

    def run(
        self, argv: Sequence[str | Path], *, timeout_s: float, cwd: Path, seen: Sequence[Path] = (), text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return run_to_end(self.command(argv, cwd, seen), timeout_s=timeout_s, text=text)

    def start(self, argv: Sequence[str | Path], *, log: Path, cwd: Path, seen: Sequence[Path] = ()) -> ServerProcess:
        return _ContainerProcess(self.runtime, self.command(argv, cwd, seen), log=log, cwd=cwd)

    def command(self, argv: Sequence[str | Path], cwd: Path, seen: Sequence[Path]) -> list[str]:
        """The whole command line; `cwd` is the instance's folder."""
        account = server_account()
        uid, gid = (account.uid, account.gid) if account else (os.geteuid(), os.getegid())
        files, threads = (resource.getrlimit(which)[1] for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
        threads = _THREADS_MAX if threads == resource.RLIM_INFINITY else min(threads, _THREADS_MAX)
        folders = dict.fromkeys([cwd, *seen])
        return [
            *(self.runtime, "run", "--rm", "--pull=never", "--log-driver=none", "--network=host", "--interactive"),
            *("--label", f"{_LABEL}={cwd}", "--workdir", str(cwd)),
            *(word for folder in folders for word in ("-v", f"{folder}:{folder}")),
            *("--user", f"{uid}:{gid}", "--cap-drop=all", "--security-opt=label=disable"),
            *(("--userns=keep-id",) if self.runtime == "podman" and account is None else ()),
            *("--pids-limit=-1", f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={threads}:{threads}"),
            *("--entrypoint", str(argv[0]), self.image, *(str(word) for word in argv[1:])),
        ]


class _ContainerProcess(ServerProcess):
    """Our child is the runtime's client: it ends when the container does, and hands signals on to it."""

    def __init__(self, runtime: str, argv: Sequence[str], *, log: Path, cwd: Path) -> None:
        super().__init__(argv, env=os.environ, log=log, cwd=cwd, as_account=False)
        self._runtime = runtime
        self._folder = cwd

    @property
    def server_pid(self) -> int:
        found = _ask(self._runtime, "inspect", "--format", "{{.State.Pid}}", *_containers(self._runtime, self._folder))
        return int(found.stdout) if found.stdout.strip().isdigit() else self.pid

    def freeze(self) -> None:
        os.kill(self.server_pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.server_pid, signal.SIGCONT)

    def kill(self) -> None:
        if found := _containers(self._runtime, self._folder):
            _ask(self._runtime, "kill", *found)  # removing alone waits for the server to stop first
        remove_containers(self._runtime, self._folder)
        super().kill()


def installation_for(
    sources: Sources, version: str | None, image: str | None, source: str | None = None
) -> Installation:
    """What a plan asks for: `image`, else `version`, else whichever is here. Raises ServerError, PlanError."""
    if image is None:
        return sources.find(version, source)
    if sources.in_images is None:
        raise PlanError(f"{sources.kind} cannot be started from images", hint="start it by `version`")
    return _in_image(sources.kind, image, sources.in_images)


def _refuse_option(image: str) -> None:
    if not image or image.startswith("-"):
        raise PlanError(f'"{image}" is not the name of an image', hint='such as "docker.io/library/mysql:8.4"')


def _in_image(kind: str, image: str, named: Named) -> ImageInstallation:
    """The first program of these names that runs in the image."""
    _refuse_option(image)
    name = runtime()
    found, digest = _inspected(name, image, f"`bakeoff systems install {kind} --image {image}` pulls it")
    said, repository = "", f"image {image.partition('@')[0]}"
    if ":" in repository.rpartition("/")[2]:
        repository = repository.rpartition(":")[0]
    for program in named.programs:
        described = f"image {image} ({digest}) by {name}"
        one = ImageInstallation("", "image", described, Path(program), {}, repository, name, found)
        argv = [program, *named.flags, "--version"]
        done = one.run(argv, timeout_s=_TIMEOUT_S, cwd=Path("/tmp"))
        if done.returncode == 0 and (version := named.version_of(done.stdout)):
            return replace(one, version=version)
        said = said or _last_line(done)
    raise ServerError(f"{' and '.join(named.programs)} of the image {image} do not run: {said}")


def remove_containers(runtime: str, folder: Path) -> None:
    """Those that belong to the instance in `folder`."""
    if runtime in RUNTIMES and (found := _containers(runtime, folder)):
        _ask(runtime, "rm", "--force", "--volumes", *found)


def _containers(runtime: str, folder: Path) -> list[str]:
    return _ask(runtime, "ps", "--all", "--quiet", "--filter", f"label={_LABEL}={folder}").stdout.split()


def _inspected(runtime: str, image: str, hint: str) -> tuple[str, str]:
    """Id and digest."""
    done = _ask(runtime, "image", "inspect", image)
    if done.returncode:
        raise ServerError(f"the image {image} is not installed", hint=hint)
    told: Mapping[str, object] = json.loads(done.stdout)[0]
    digests = told.get("RepoDigests")
    found = str(told["Id"])
    digest = str(digests[0]).rpartition("@")[2] if isinstance(digests, list) and digests else found
    return found, digest if digest.startswith("sha256:") else f"sha256:{digest}"


def _ask(runtime: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [runtime, *arguments]
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(argv, 1, "", str(error))


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return _last_words(f"{done.stdout or ''}\n{done.stderr or ''}") or f"exit code {done.returncode}"


def _last_words(said: str) -> str:
    lines = said.strip().splitlines()
    return lines[-1] if lines else ""
