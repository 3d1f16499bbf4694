"""Finding the server and proving who we are: kubeconfig, exec plugin, pod, TLS, proxy."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import logging
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.cluster import access
from elasticgpu.cluster.client import Client
from elasticgpu.errors import Forbidden, Refused, Unavailable

from .fake import Answer, FakeServer, status
from .objects import CLASSES, raw

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:kubernetes_asyncio")
ONE = f"{CLASSES}/one"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No kubeconfig, pod or proxy but the test's own."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def kubeconfig(where: Path, server: str, user: dict[str, Any], **cluster: Any) -> str:
    """Write a kubeconfig with one context, `main`."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
    }
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(yaml.safe_dump(content))
    return str(where)


async def authorization(server: FakeServer, client: Client) -> str:
    """What the client proves itself with."""
    server.on("GET", ONE, Answer(raw("one", 1)))
    await client.get(ElasticGPUClass, ("", "one"))
    return server.asked[-1].headers.get("Authorization", "")


async def test_the_kubeconfig_named(server: FakeServer, tmp_path: Path) -> None:
    """Server and token are those of the current context; so are a named context's."""
    path = kubeconfig(tmp_path / "named", server.url + "/", {"token": "t0"})
    async with await Client.connect(kubeconfig=path, user_agent="test/1") as client:
        assert await authorization(server, client) == "Bearer t0"
    async with await Client.connect(kubeconfig=path, context="main") as client:
        assert await authorization(server, client) == "Bearer t0"
    assert server.asked[0].headers["User-Agent"] == "test/1"


async def test_the_namespace_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The context's namespace, if it names one."""
    path = kubeconfig(tmp_path / "named", "http://127.0.0.1:1", {})
    assert (await access.find(path)).namespace == ""
    content = yaml.safe_load(Path(path).read_text())
    content["contexts"][0]["context"]["namespace"] = "team"
    Path(path).write_text(yaml.safe_dump(content))
    assert (await access.find(path)).namespace == "team"


async def test_where_a_kubeconfig_is_looked_for(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """$KUBECONFIG, read when connecting, wins over ~/.kube/config."""
    kubeconfig(tmp_path / ".kube" / "config", server.url, {"token": "home"})
    async with await Client.connect() as client:
        assert await authorization(server, client) == "Bearer home"
    named = kubeconfig(tmp_path / "named", server.url, {"token": "env"})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/missing:{named}")
    async with await Client.connect() as client:
        assert await authorization(server, client) == "Bearer env"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "no kubeconfig: pass --kubeconfig"),
        ({"kubeconfig": "/nowhere/config"}, "/nowhere/config does not exist"),
        ({"kubeconfig": "GOOD", "context": "other"}, "Expected object with name other"),
    ],
)
async def test_what_cannot_be_used_is_refused(
    tmp_path: Path, options: dict[str, str], says: str
) -> None:
    """The refusal names what is missing and where."""
    good = kubeconfig(tmp_path / "good", "http://127.0.0.1:1", {"token": "t"})
    options = {name: good if value == "GOOD" else value for name, value in options.items()}
    with pytest.raises(Refused, match=says):
        await Client.connect(**options)


async def test_a_broken_kubeconfig_tells_no_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The library's message holds the whole user entry; ours and the log do not."""
    caplog.set_level(logging.DEBUG)
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}
    env = [{"name": "PASSWORD", "value": None}]
    user = {"token": "s3cret", "exec": {**plugin, "env": env}}
    path = kubeconfig(tmp_path / "broken", "http://127.0.0.1:1", user)
    with pytest.raises(Refused, match="cannot be used") as caught:
        await Client.connect(kubeconfig=path)
    assert "s3cret" not in str(caught.value) + caplog.text
    assert caught.value.__cause__ is None


async def test_a_token_file_is_read_again(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rotated token is used after the next look, without a refused request in between."""
    monkeypatch.setattr(access, "REFRESH", 0.01)
    monkeypatch.setattr(access, "IMPATIENCE", 0.0)
    token = tmp_path / "token"
    token.write_text("first\n")
    path = kubeconfig(tmp_path / "config", server.url, {"tokenFile": str(token)})
    async with await Client.connect(kubeconfig=path) as client:
        assert await authorization(server, client) == "Bearer first"
        token.write_text("second\n")
        while await authorization(server, client) != "Bearer second":
            await asyncio.sleep(0.01)


PLUGIN = """
import datetime, json, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=int(sys.argv[2]))
end = soon.strftime("%Y-%m-%dT%H:%M:%SZ")
print(json.dumps({
    "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
    "status": {"token": f"exec-{number}", "expirationTimestamp": end},
}))
"""


def exec_user(tmp_path: Path, minutes: int) -> dict[str, Any]:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(PLUGIN)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(plugin), str(tmp_path / "count"), str(minutes)],
        }
    }


async def test_an_exec_plugin_is_asked_once(server: FakeServer, tmp_path: Path) -> None:
    """A token that lasts is fetched once, and not again when the credentials are looked at."""
    path = kubeconfig(tmp_path / "config", server.url, exec_user(tmp_path, minutes=60))
    async with await Client.connect(kubeconfig=path) as client:
        assert await authorization(server, client) == "Bearer exec-1"
        assert not await client._access.renew("Bearer exec-1")
    assert (tmp_path / "count").read_text() == "1"


async def test_an_exec_plugins_token_is_renewed_before_it_ends(
    server: FakeServer, tmp_path: Path
) -> None:
    """At a look at the credentials with less than five minutes left, the plugin is asked again."""
    path = kubeconfig(tmp_path / "config", server.url, exec_user(tmp_path, minutes=1))
    async with await Client.connect(kubeconfig=path) as client:
        assert await client._access.renew("Bearer exec-1")
        assert await authorization(server, client) == "Bearer exec-2"


async def test_a_failing_renewal_keeps_what_is_there(
    server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The credentials in hand go on; 401 then means Forbidden."""

    async def reload() -> str:
        raise RuntimeError("plugin crashed")

    server.on("GET", ONE, status(401, "Unauthorized"))
    async with Client(access.Access(server.url, authorization="x", reload=reload)) as client:
        with pytest.raises(Forbidden):
            await client.get(ElasticGPUClass, ("", "one"))
    assert "cannot be renewed: RuntimeError: plugin crashed" in caplog.text


async def test_what_was_renewed_meanwhile_is_not_renewed_again() -> None:
    """A request refused with credentials that are no longer the present ones just repeats."""

    async def reload() -> str:
        raise AssertionError("asked for no reason")

    present = access.Access("http://x", authorization="new", reload=reload)
    assert await present.renew("old")


async def test_in_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: TlsServer) -> None:
    """Service account token, CA and the service's address; a rotated token is picked up."""
    from kubernetes_asyncio.config import incluster_config

    token = tmp_path / "token"
    token.write_text("pod-1\n")
    (tmp_path / "namespace").write_text("team\n")
    monkeypatch.setattr(access, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tls.ca_file))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(tls.port))
    async with await Client.connect() as client:
        assert (await client.raw("GET", "/who"))["authorization"] == "Bearer pod-1"
        token.write_text("pod-2\n")
        assert client._access.namespace == "team"
        assert await client._access.renew("Bearer pod-1")
        assert (await client.raw("GET", "/who"))["authorization"] == "Bearer pod-2"


# -- TLS ------------------------------------------------------------------------------------


class TlsServer:
    """An HTTPS server with a CA of its own, that answers who the client says it is."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.ca_file, ca_key = self._issue("ca", None, None)
        self.cert, self.key = self._issue("server", self.ca_file, ca_key)
        self.client_cert, self.client_key = self._issue("alice", self.ca_file, ca_key)
        app = web.Application()
        app.router.add_get("/who", self._who)
        self.server = TestServer(app, host="127.0.0.1", scheme="https")

    @property
    def port(self) -> int:
        assert self.server.port is not None
        return self.server.port

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def start(self) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.ca_file))
        context.load_cert_chain(self.cert, self.key)
        context.verify_mode = ssl.CERT_OPTIONAL
        await self.server.start_server(ssl=context)

    async def _who(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert") or {}
        name = dict(part[0] for part in peer.get("subject", ())).get("commonName", "")
        return web.json_response(
            {"name": name, "authorization": request.headers.get("Authorization", "")}
        )

    def _issue(self, name: str, issuer: Path | None, issuer_key: Path | None) -> tuple[Path, Path]:
        """A certificate for 127.0.0.1 and `api.test`, without key identifiers, as old CAs are."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        parent = x509.load_pem_x509_certificate(issuer.read_bytes()).subject if issuer else subject
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(parent)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(
                x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True
            )
        )
        if issuer:
            names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("api.test")]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signer = key
        if issuer_key:
            loaded = serialization.load_pem_private_key(issuer_key.read_bytes(), None)
            assert isinstance(loaded, ec.EllipticCurvePrivateKey)
            signer = loaded
        cert = self.where / f"{name}.crt"
        cert.write_bytes(
            builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )
        private = self.where / f"{name}.key"
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return cert, private


@pytest.fixture
async def tls(tmp_path: Path) -> AsyncIterator[TlsServer]:
    server = TlsServer(tmp_path)
    await server.start()
    yield server
    await server.server.close()


def data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


async def test_the_server_is_verified(tls: TlsServer, tmp_path: Path) -> None:
    """By the kubeconfig's CA; without it the connection is refused before anything is sent."""
    ca = {"certificate-authority-data": data(tls.ca_file)}
    good = kubeconfig(tmp_path / "good", tls.url, {"token": "t"}, **ca)
    async with await Client.connect(kubeconfig=good) as client:
        assert (await client.raw("GET", "/who"))["authorization"] == "Bearer t"
    bad = kubeconfig(tmp_path / "bad", tls.url, {"token": "t"})
    async with await Client.connect(kubeconfig=bad) as client:
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await client.raw("GET", "/who", attempts=1)


async def test_the_servers_name_is_verified(tls: TlsServer, tmp_path: Path) -> None:
    """`tls-server-name` is the name asked for and checked."""
    ca = {"certificate-authority": str(tls.ca_file)}
    good = kubeconfig(tmp_path / "good", tls.url, {}, **ca, **{"tls-server-name": "api.test"})
    async with await Client.connect(kubeconfig=good) as client:
        await client.raw("GET", "/who")
    bad = kubeconfig(tmp_path / "bad", tls.url, {}, **ca, **{"tls-server-name": "other.test"})
    async with await Client.connect(kubeconfig=bad) as client:
        with pytest.raises(Unavailable, match="Hostname mismatch"):
            await client.raw("GET", "/who", attempts=1)


async def test_verification_can_be_switched_off_by_the_kubeconfig(
    tls: TlsServer, tmp_path: Path
) -> None:
    """`insecure-skip-tls-verify` is the user's own decision, and only then."""
    path = kubeconfig(tmp_path / "config", tls.url, {}, **{"insecure-skip-tls-verify": True})
    async with await Client.connect(kubeconfig=path) as client:
        await client.raw("GET", "/who")


async def test_client_certificates(tls: TlsServer, tmp_path: Path) -> None:
    """A user by certificate is known to the server by it."""
    user = {"client-certificate-data": data(tls.client_cert), "client-key": str(tls.client_key)}
    ca = {"certificate-authority": str(tls.ca_file)}
    path = kubeconfig(tmp_path / "config", tls.url, user, **ca)
    async with await Client.connect(kubeconfig=path) as client:
        assert (await client.raw("GET", "/who"))["name"] == "alice"


# -- proxy ----------------------------------------------------------------------------------


async def test_a_proxy_is_honoured(server: FakeServer, tmp_path: Path) -> None:
    """`proxy-url` of the kubeconfig gets the requests, the server's name in them."""
    path = kubeconfig(tmp_path / "c", "http://api.invalid", {}, **{"proxy-url": server.url})
    async with await Client.connect(kubeconfig=path) as client:
        await authorization(server, client)
    assert server.asked[0].headers["Host"] == "api.invalid"


PROXIES = [
    ("https://10.96.0.1:443", "", "http://proxy:3128"),
    ("https://10.96.0.1:443", "10.0.0.0/8,.svc", None),
    ("https://10.96.0.1:443", "192.168.0.0/16", "http://proxy:3128"),
    ("https://10.96.0.1:443", "10.96.0.1", None),
    ("https://[fd00::1]:443", "fd00::/8", None),
    ("https://api.example.com", ".example.com", None),
    ("https://api.example.com", "example.org,10.0.0.0/8", "http://proxy:3128"),
    ("https://127.0.0.1:6443", "", None),
    ("https://localhost:6443", "", None),
    ("http://api.example.com", "", None),
]


@pytest.mark.parametrize(("url", "exempt", "proxy"), PROXIES)
def test_the_environments_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, exempt: str, proxy: str | None
) -> None:
    """HTTPS_PROXY counts for https, but not for loopback nor for what NO_PROXY names."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", exempt)
    assert access.proxy_for(url) == proxy


# -- cost -----------------------------------------------------------------------------------


def test_the_room_is_cheap_to_import() -> None:
    """Importing the client does not import kubernetes_asyncio: commands start without it."""
    code = "import sys, json, elasticgpu.cluster.client; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert "kubernetes_asyncio" not in json.loads(done.stdout)


def test_the_standard_library_will_do() -> None:
    """Without orjson the same JSON comes and goes."""
    code = (
        "import sys; sys.modules['orjson'] = None; "
        "from elasticgpu.cluster.transport import dumps, loads; "
        "assert dumps({'a': [1]}) == b'{\"a\":[1]}' and loads(dumps({'a': 'ä'})) == {'a': 'ä'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
