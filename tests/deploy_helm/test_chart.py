"""The chart as Helm renders it. Helm is built from its source, which takes two minutes the first time."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy

import pytest
import yaml

from tests.deploy_helm.chart import CHART, EVERYTHING, POSTGRESQL, Objects, rendered, run, template
from tests.house.kubernetes_shapes import chart_faults
from tests.house.product_files import ROOT

pytestmark = [pytest.mark.real, pytest.mark.long]

UID = 10001
STATE, CONFIGURATION = "/var/lib/mirrorwatch", "/etc/mirrorwatch/mirrorwatch.yaml"
SETS = ["default", "postgresql", "postgresql with jobs", "everything"]
BASE = ["ConfigMap", "NetworkPolicy", "Service", "Service", "StatefulSet"]
KINDS = {
    "default": [*BASE, "PersistentVolumeClaim"],
    "postgresql": [*BASE, "PodDisruptionBudget"],
    "postgresql with jobs": [*BASE, "PodDisruptionBudget", "CronJob", "CronJob"],
    "everything": [
        *BASE, "PersistentVolumeClaim", "CronJob", "CronJob", "ServiceMonitor", "PrometheusRule", "ConfigMap",
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def releases(options):
    """Give the objects of each set of values."""
    return {name: rendered(*words) for name, words in options.items()}


@pytest.fixture(params=SETS)
def objects(request, releases):
    return releases[request.param]


@pytest.fixture
def everything(releases):
    return releases["everything"]


def labels(one):
    return one["metadata"]["labels"]


def containers(objects):
    return {name: pod["spec"]["containers"][0] for name, pod in objects.pods().items()}


def volumes(pod):
    return {one["name"]: one for one in pod["spec"]["volumes"]}


# --- all sets


@pytest.mark.parametrize("name", SETS)
def test_lint_finds_nothing(options, name):
    done = run("lint", "--strict", CHART, *options[name])
    assert done.status == 0, done.output + done.errors
    assert "[WARNING]" not in done.output + done.errors


@pytest.mark.parametrize("name", SETS)
def test_a_set_makes_these_kinds(releases, name):
    assert releases[name].kinds() == sorted(KINDS[name])


def test_each_object_has_the_shape_of_its_kind(objects):
    assert [fault for one in objects.all for fault in chart_faults(one)] == []


def test_no_two_objects_of_a_kind_have_one_name_and_all_have_the_labels_of_the_release(objects):
    names = [(one["kind"], one["metadata"]["name"]) for one in objects.all]
    assert len(names) == len(set(names))
    common = {"app.kubernetes.io/name": "mirrorwatch", "app.kubernetes.io/instance": "mw"}
    assert [one for one in objects.all if not common.items() <= labels(one).items()] == []


def test_every_pod_is_one_unprivileged_process_with_a_root_that_it_cannot_write(objects):
    for pod in objects.pods().values():
        spec = pod["spec"]
        (container,) = spec["containers"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": UID,
            "runAsGroup": UID,
            "fsGroup": UID,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"requests", "limits"} == set(container["resources"])


def test_every_selector_selects_the_pods_of_the_service_and_no_others(objects):
    pods = {name: pod["metadata"]["labels"] for name, pod in objects.pods().items()}

    def selected(selector):
        return {name for name, have in pods.items() if selector.items() <= have.items()}

    for one in objects.all:
        spec = one.get("spec", {})
        if one["kind"] == "Service":
            assert selected(spec["selector"]) == {"service"}
        elif one["kind"] in {"StatefulSet", "PodDisruptionBudget"}:
            assert selected(spec["selector"]["matchLabels"]) == {"service"}
        elif one["kind"] == "NetworkPolicy":
            assert selected(spec["podSelector"]["matchLabels"]) == set(pods)
            own = [peer["podSelector"]["matchLabels"] for peer in spec["ingress"][0]["from"][-1:]]
            assert [selected(selector) for selector in own] == [{"service"}]


def test_every_reference_leads_to_an_object_or_to_a_name_in_the_values(objects):
    maps = {one["metadata"]["name"] for one in objects.all if one["kind"] == "ConfigMap"}
    claims = {one["metadata"]["name"] for one in objects.all if one["kind"] == "PersistentVolumeClaim"}
    for pod in objects.pods().values():
        have = volumes(pod)
        (container,) = pod["spec"]["containers"]
        mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        assert set(mounts) == set(have)
        assert mounts["configuration"] == CONFIGURATION.rpartition("/")[0]
        assert mounts["store"] == STATE
        assert have["configuration"]["configMap"]["name"] in maps
        claim = have["store"].get("persistentVolumeClaim", {}).get("claimName")
        assert claim is None or claim in claims | {"reports"}
        secrets = {one["valueFrom"]["secretKeyRef"]["name"] for one in secret_env(container)}
        assert secrets <= {"mirrorwatch"}
    service = objects.only("StatefulSet")["spec"]["serviceName"]
    assert objects.named("Service", service)["spec"]["clusterIP"] == "None"


def secret_env(container):
    return [one for one in container["env"] if "secretKeyRef" in one.get("valueFrom", {})]


def test_every_pod_has_the_secrets_and_the_name_that_its_configuration_reads(objects):
    texts = objects.named("ConfigMap", "mw-mirrorwatch")["data"]
    named = {part.partition("}")[0] for text in texts.values() for part in text.split("${env:")[1:]}
    for container in containers(objects).values():
        first, second, *_ = container["env"]
        assert first == {
            "name": "MIRRORWATCH_REPLICA",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
        }
        assert second["value"].endswith("://$(MIRRORWATCH_REPLICA).mw-mirrorwatch-replicas:9699")
        assert named <= {one["name"] for one in container["env"]}


# --- the service


def test_the_service_runs_as_the_manifests_run_it(releases):
    """Everything of the container but its environment is that of deploy/kubernetes."""
    (container,) = deepcopy(releases["default"].pods()["service"]["spec"]["containers"])
    (manifest,) = yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "deployment.yaml").read_text())
    (there,) = manifest["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"].pop("scheme") == "HTTP"
    differs = {key for key in container.keys() | there.keys() if container.get(key) != there.get(key)}
    assert differs == {"env"}


def test_a_sqlite_store_has_a_claim_that_outlives_the_release(releases):
    claim = releases["default"].only("PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "2Gi"}},
    }
    store = volumes(releases["default"].pods()["service"])["store"]
    assert store["persistentVolumeClaim"] == {"claimName": "mw-mirrorwatch"}
    assert releases["default"].only("StatefulSet")["spec"]["replicas"] == 1


def test_a_claim_that_exists_is_used():
    objects = rendered("--set", "volume.existingClaim=mine")
    assert "PersistentVolumeClaim" not in objects.kinds()
    assert volumes(objects.pods()["service"])["store"]["persistentVolumeClaim"] == {"claimName": "mine"}


def test_two_replicas_share_no_volume_and_are_spread_and_not_evicted_at_once(releases):
    objects = releases["postgresql"]
    spec = objects.only("StatefulSet")["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"]) == (2, "Parallel")
    assert volumes(objects.pods()["service"])["store"]["emptyDir"] == {"sizeLimit": "64Mi"}
    (spread,) = spec["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"] == spec["selector"]
    budget = objects.only("PodDisruptionBudget")["spec"]
    assert budget == {"maxUnavailable": 1, "selector": spec["selector"]}


def test_a_changed_configuration_changes_the_pod():
    def annotation(*words):
        return rendered(*words).pods()["service"]["metadata"]["annotations"]["checksum/configuration"]

    first = annotation()
    assert annotation() == first
    assert annotation("--set", "replicas=1,service.port=80") == first
    assert len({first, annotation("--set", "files.more=x"), annotation("--set", "files.more=y")}) == 3


def test_a_long_name_of_a_release_leaves_names_that_a_cronjob_may_have():
    objects = rendered(*EVERYTHING, release="a" * 53)
    assert max(len(one["metadata"]["name"]) for one in objects.all) <= 52
    assert [fault for one in objects.all for fault in chart_faults(one)] == []


def test_a_release_that_has_the_name_of_the_chart_has_it_once():
    assert rendered(release="mirrorwatch").only("StatefulSet")["metadata"]["name"] == "mirrorwatch"


def test_environment_variables_are_those_of_every_pod():
    words = ["--set-string", "env.SSL_CERT_FILE=/run/secrets/mirrorwatch/ca.crt,env.N=1"]
    for container in containers(rendered(*EVERYTHING, *words)).values():
        plain = {one["name"]: one["value"] for one in container["env"] if "value" in one}
        assert plain["SSL_CERT_FILE"] == "/run/secrets/mirrorwatch/ca.crt"
        assert plain["N"] == "1"


MUTUAL = r"files.web\.yml=tls_server_config: {client_auth_type: RequireAndVerifyClientCert}"


def test_probes_of_a_service_that_requires_certificates_only_connect():
    (container,) = rendered("--set", MUTUAL, "--set", "http.probe=tcp").pods()["service"]["spec"][
        "containers"
    ]
    probes = {name: one for name, one in container.items() if name.endswith("Probe")}
    assert len(probes) == 3
    for probe in probes.values():
        assert probe.pop("tcpSocket") == {"port": "http"}
        assert probe.keys() <= {"periodSeconds", "timeoutSeconds", "failureThreshold"}


def test_headers_of_the_values_are_those_of_every_probe():
    words = ["--set", "http.probeHeaders[0].name=Authorization,http.probeHeaders[0].value=Basic x"]
    objects = rendered(*words)
    assert [fault for one in objects.all for fault in chart_faults(one)] == []
    (container,) = objects.pods()["service"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["httpHeaders"] == [{"name": "Authorization", "value": "Basic x"}]


# --- jobs


@pytest.mark.parametrize(("component", "folder"), [("checksum", "checksum"), ("report", "report")])
def test_a_job_is_that_of_the_manifests(everything, component, folder):
    job = deepcopy(everything.named("CronJob", f"mw-mirrorwatch-{component}"))
    (there,) = yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / folder / "cronjob.yaml").read_text())
    mine, other = job["spec"]["jobTemplate"].pop("spec"), there["spec"]["jobTemplate"].pop("spec")
    assert job["spec"] == there["spec"]
    pods = mine.pop("template")["spec"], other.pop("template")["spec"]
    assert mine == other
    (container,), (other_container,) = (pod["containers"] for pod in pods)
    for key in ("name", "image", "command", "args", "resources", "securityContext"):
        assert container.get(key) == other_container.get(key)
    assert pods[0].get("terminationGracePeriodSeconds") == pods[1].get("terminationGracePeriodSeconds")
    (near,) = pods[0]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert near["labelSelector"] == everything.only("StatefulSet")["spec"]["selector"]


def test_with_postgresql_the_jobs_run_anywhere(releases):
    pods = releases["postgresql with jobs"].pods()
    assert "affinity" not in pods["checksum"]["spec"] | pods["report"]["spec"]
    assert pods["checksum"]["spec"]["containers"][0]["args"] == ["checksum", "run", CONFIGURATION]
    assert volumes(pods["checksum"])["store"] == {"name": "store", "emptyDir": {"sizeLimit": "64Mi"}}
    assert volumes(pods["report"])["store"]["persistentVolumeClaim"] == {"claimName": "reports"}


# --- monitoring


def test_the_service_monitor_selects_one_service_and_names_the_job_as_the_alerts_expect(everything):
    monitor = everything.only("ServiceMonitor")
    selector = monitor["spec"]["selector"]["matchLabels"]
    found = [
        one for one in everything.all if one["kind"] == "Service" and selector.items() <= labels(one).items()
    ]
    assert [one["metadata"]["name"] for one in found] == ["mw-mirrorwatch"]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert [endpoint["port"]] == [one["name"] for one in found[0]["spec"]["ports"]]
    job = labels(found[0])[monitor["spec"]["jobLabel"]]
    assert f'up{{job="{job}"}}' in json.dumps(everything.only("PrometheusRule")["spec"]).replace('\\"', '"')
    assert endpoint["scheme"] == "https"


def test_no_annotation_has_the_service_scraped_as_another_job(objects):
    assert list(objects.pods()["service"]["metadata"]["annotations"]) == ["checksum/configuration"]


def test_a_service_account_is_that_of_every_pod():
    pods = rendered(*EVERYTHING, "--set", "serviceAccountName=mw").pods()
    assert [pod["spec"]["serviceAccountName"] for pod in pods.values()] == ["mw"] * 3


def test_rules_and_dashboards_are_those_that_render_writes(everything, monitoring):
    rules = yaml.safe_load((monitoring / "prometheus" / "mirrorwatch.rules.yml").read_text())
    rule = everything.only("PrometheusRule")
    assert rule["spec"] == rules
    assert labels(rule)["release"] == "prometheus"
    dashboards = everything.named("ConfigMap", "mw-mirrorwatch-dashboards")
    assert labels(dashboards)["grafana_dashboard"] == "1"
    assert dashboards["data"] == {
        path.name: path.read_text() for path in (monitoring / "grafana" / "dashboards").iterdir()
    }
    assert len(json.dumps(dashboards)) < 900_000  # a ConfigMap has 1 MiB at most


def test_the_policy_admits_the_peers_of_the_values(everything):
    (rule,) = everything.only("NetworkPolicy")["spec"]["ingress"]
    assert rule["from"][1] == {"ipBlock": {"cidr": "192.0.2.0/24"}}
    assert rule["ports"] == [{"port": "http", "protocol": "TCP"}]
    assert "NetworkPolicy" not in rendered("--set", "networkPolicy.enabled=false").kinds()


def test_the_ports_of_services_and_policy_are_those_of_the_container(objects):
    (port,) = containers(objects)["service"]["ports"]
    assert (port["name"], port["containerPort"]) == ("http", 9699)
    for one in objects.all:
        if one["kind"] == "Service":
            assert [target["targetPort"] for target in one["spec"]["ports"]] == ["http"]


# --- what is refused


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("replicas=0", "- at '/replicas': minimum: got 0, want 1"),
        ("replicas=two", "- at '/replicas': got string, want integer"),
        ("replica=2", "- at '': additional properties 'replica' not allowed"),
        ("http.scheme=https", "- at '/http/scheme': value must be one of 'HTTP', 'HTTPS'"),
        ("report.schedule=monday", "- at '/report/schedule': 'monday' does not match pattern"),
        ("volume.size=2GB", "- at '/volume/size': '2GB' does not match pattern"),
        ("service.port=99999", "- at '/service/port': maximum: got 99,999, want 65,535"),
        ("secretEnv.A-B=x", "- at '/secretEnv': additional properties 'A-B' not allowed"),
        ("configuration=", "- at '/configuration': minLength: got 0, want 1"),
        ("http.probe=none", "- at '/http/probe': value must be one of 'http', 'tcp'"),
        ("env.N=1", "- at '/env/N': got number, want string"),
    ],
)
def test_the_schema_refuses_a_wrong_value_in_a_sentence(words, sentence):
    refused = template("--set", words)
    assert refused.status != 0
    assert sentence in refused.errors


GOOD = 'http: {listen: ":9699"}\n'
SHARED = "store: {url: 'postgresql://h/d', replica: '${env:MIRRORWATCH_REPLICA}'"


@pytest.mark.parametrize(
    ("configuration", "words", "sentence"),
    [
        ("a: [b", [], "configuration: invalid YAML; fix mirrorwatch.yaml: "),
        ("http: x", [], "configuration: http must be a mapping; run `mirrorwatch check` on the file"),
        ("mm2: x", [], "configuration: http.listen is '127.0.0.1:9699'; write \"0.0.0.0:9699\""),
        ('http: {listen: ":80"}', [], "configuration: http.listen is ':80'; write"),
        (GOOD, [], "configuration: store.url is 'sqlite:///mirrorwatch.db', which the pod cannot write; write"),
        (
            f"{GOOD}store: {{url: 'sqlite:////var/lib/mirrorwatch/m.db'}}",
            ["--set", "replicas=2"],
            "replicas: 2 replicas cannot share a SQLite store; set store.url to a PostgreSQL database",
        ),
        (
            f"{GOOD}store: {{url: 'postgresql://h/d', replica: a}}",
            ["--set", "replicas=2"],
            'configuration: store.replica must differ in each replica; write replica: "${env:MIRRORWATCH_REPLICA}"',
        ),
        (
            f"{GOOD}store: {{url: 'sqlite:////var/lib/mirrorwatch/data/m.db'}}",
            [],
            "configuration: store.url is 'sqlite:////var/lib/mirrorwatch/data/m.db', which the pod cannot write",
        ),
        (
            f"{GOOD}{SHARED}}}",
            ["--set", "replicas=2"],
            "configuration: store.group is missing, so each replica would watch everything; write group: mirrorwatch",
        ),
        (
            f"{GOOD}{SHARED}, group: m}}",
            ["--set", "replicas=2"],
            "configuration: other replicas would not reach http.replica_url; write replica_url: ",
        ),
        (
            f"http: {{listen: ':9699', replica_url: '${{env:MIRRORWATCH_REPLICA_URL}}'}}\n{SHARED}, group: m, shards: 3}}",
            ["--set", "replicas=3"],
            "replicas: 3 replicas for 3 shards leave no standby; set replicas to 4 or more",
        ),
        (None, ["--set", "secretEnv.A=a"], "existingSecret: missing, and secretEnv refers to it"),
        (
            None,
            ["--set", "existingSecret=s,secretEnv.MIRRORWATCH_REPLICA=a"],
            "secretEnv: the chart sets MIRRORWATCH_REPLICA itself; remove it",
        ),
        (None, ["--set", "env.MIRRORWATCH_REPLICA_URL=a"], "env: the chart sets MIRRORWATCH_REPLICA_URL itself"),
        (
            None,
            ["--set", "existingSecret=s,secretEnv.A=a,env.A=a"],
            "env: secretEnv sets A too; remove one of the two",
        ),
        (
            None,
            ["--set", MUTUAL],
            "http.probe: the kubelet has no certificate, which web.yml requires of clients; set http.probe to tcp",
        ),
        (None, ["--set", r"files.mirrorwatch\.yaml=x"], "files: mirrorwatch.yaml is the text of `configuration`"),
        (None, [*POSTGRESQL, "--set", "report.enabled=true"], "report.existingClaim: missing; with a PostgreSQL"),
        (None, ["--set", "prometheusRule.rules=x: y"], "prometheusRule.rules: no groups in it; pass the file"),
    ],
)  # fmt: skip
def test_the_chart_refuses_what_cannot_work_in_a_sentence(configuration, words, sentence, tmp_path):
    if configuration is not None:
        (tmp_path / "mirrorwatch.yaml").write_text(configuration)
        words = ["--set-file", f"configuration={tmp_path / 'mirrorwatch.yaml'}", *words]
    refused = template(*words)
    assert refused.status != 0
    assert sentence in refused.errors


@pytest.mark.parametrize("listen", ["0.0.0.0:9699", ":9699", "[::]:9699", "${env:LISTEN}"])
def test_an_address_that_others_reach_is_taken(listen, tmp_path):
    file = tmp_path / "mirrorwatch.yaml"
    file.write_text(f'http: {{listen: "{listen}"}}\nstore: {{url: "${{env:STORE}}"}}\n')
    assert "StatefulSet" in rendered("--set-file", f"configuration={file}").kinds()


# --- the notes


def notes(tmp_path, *words):
    """Return the notes, which `helm template` leaves out, by a template that includes them."""
    chart = tmp_path / "mirrorwatch"
    shutil.copytree(CHART, chart)
    (chart / "templates" / "notes.yaml").write_text(
        'notes: |\n  {{- include (print .Template.BasePath "/NOTES.txt") . | nindent 2 }}\n'
    )
    done = template("--show-only", "templates/notes.yaml", *words, chart=chart)
    assert done.status == 0, done.errors
    (shown,) = Objects(done.output).all
    return shown["notes"]


def test_the_notes_name_a_secret_that_is_not_given(tmp_path):
    words = ["--set", "files.more=${env:MORE} ${env:A_PASSWORD} ${env:PLAIN},env.PLAIN=x"]
    text = notes(tmp_path, *POSTGRESQL, *words)
    assert "port-forward service/mw-mirrorwatch 9699:9699" in text
    assert [line for line in text.splitlines() if line.startswith("WARNING")] == [
        "WARNING: the configuration refers to MORE, which no entry of env or secretEnv sets."
    ]


def test_the_notes_say_that_the_configuration_is_the_example(tmp_path):
    assert "WARNING: the configuration is the example of the chart." in notes(tmp_path)
