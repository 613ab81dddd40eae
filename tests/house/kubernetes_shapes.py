"""The part of the Kubernetes API that our manifests use, as keys that an object may have and must have.

From the API reference of apps/v1, batch/v1, v1 and networking.k8s.io/v1. The API server drops a misspelled key without
a word, and a hardening that was dropped looks like one that is there: so any key that is not here is wrong.
"""

from __future__ import annotations

# A shape is: a type; a list with the shape of its members; a dict from key to shape, where a key that ends
# in "!" must be there; MAP for free names with text; or a tuple of the values or types that are allowed.
MAP = object()
PORT_REF = (int, str)

LABELS = {"matchLabels!": MAP}
METADATA = {"name!": str, "labels!": MAP, "annotations": MAP}
PROBE = {
    "httpGet!": {
        "path!": str,
        "port!": PORT_REF,
        "scheme": ("HTTP", "HTTPS"),
        "httpHeaders": [{"name!": str, "value!": str}],
    },
    "periodSeconds": int,
    "timeoutSeconds": int,
    "failureThreshold": int,
    "initialDelaySeconds": int,
}
KEY_REF = {"name!": str, "key!": str}
ENV_SOURCE = {"secretKeyRef": KEY_REF, "fieldRef": {"fieldPath!": str}}
CONTAINER = {
    "name!": str,
    "image!": str,
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "command": [str],
    "args": [str],
    "env": [{"name!": str, "value": str, "valueFrom": ENV_SOURCE}],
    "ports": [{"name!": str, "containerPort!": int, "protocol": ("TCP", "UDP", "SCTP")}],
    "startupProbe": PROBE,
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "resources": {"requests": MAP, "limits": MAP},
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "privileged": bool,
        "readOnlyRootFilesystem": bool,
        "capabilities": {"drop": [str], "add": [str]},
    },
    "volumeMounts": [{"name!": str, "mountPath!": str, "readOnly": bool}],
}
POD = {
    "automountServiceAccountToken": bool,
    "enableServiceLinks": bool,
    "serviceAccountName": str,
    "terminationGracePeriodSeconds": int,
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "imagePullSecrets": [{"name!": str}],
    "nodeSelector": MAP,
    "tolerations": [
        {
            "key": str,
            "operator": ("Exists", "Equal"),
            "value": str,
            "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
            "tolerationSeconds": int,
        }
    ],
    "topologySpreadConstraints": [
        {
            "maxSkew!": int,
            "topologyKey!": str,
            "whenUnsatisfiable!": ("DoNotSchedule", "ScheduleAnyway"),
            "labelSelector": LABELS,
        }
    ],
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey!": str, "labelSelector": {"matchLabels": MAP}}
            ]
        }
    },
    "securityContext": {
        "runAsNonRoot": bool,
        "runAsUser": int,
        "runAsGroup": int,
        "fsGroup": int,
        "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
        "seccompProfile": {"type!": ("RuntimeDefault", "Localhost", "Unconfined")},
    },
    "containers!": [CONTAINER],
    "volumes": [
        {
            "name!": str,
            "configMap": {"name!": str},
            "secret": {"secretName!": str, "defaultMode": int},
            "persistentVolumeClaim": {"claimName!": str},
            "emptyDir": {"sizeLimit": str, "medium": ("", "Memory")},
        }
    ],
}
TEMPLATE = {"metadata!": {"labels!": MAP, "annotations": MAP}, "spec!": POD}
KINDS = {
    ("v1", "ConfigMap"): {"data!": MAP},
    ("apps/v1", "Deployment"): {
        "spec!": {
            "replicas": int,
            "strategy": {"type!": ("Recreate", "RollingUpdate")},
            "selector!": LABELS,
            "template!": TEMPLATE,
        }
    },
    ("batch/v1", "CronJob"): {
        "spec!": {
            "schedule!": str,
            "concurrencyPolicy": ("Allow", "Forbid", "Replace"),
            "startingDeadlineSeconds": int,
            "successfulJobsHistoryLimit": int,
            "failedJobsHistoryLimit": int,
            "jobTemplate!": {
                "spec!": {
                    "activeDeadlineSeconds": int,
                    "backoffLimit": int,
                    "podFailurePolicy": {
                        "rules!": [
                            {
                                "action!": ("FailJob", "FailIndex", "Ignore", "Count"),
                                "onExitCodes": {
                                    "containerName": str,
                                    "operator!": ("In", "NotIn"),
                                    "values!": [int],
                                },
                            }
                        ]
                    },
                    "template!": TEMPLATE,
                }
            },
        }
    },
    ("v1", "Service"): {
        "spec!": {
            "type": ("ClusterIP", "NodePort", "LoadBalancer"),
            "clusterIP": str,
            "publishNotReadyAddresses": bool,
            "selector!": MAP,
            "ports!": [
                {"name": str, "port!": int, "targetPort": PORT_REF, "protocol": ("TCP", "UDP", "SCTP")}
            ],
        }
    },
    ("v1", "PersistentVolumeClaim"): {
        "spec!": {
            "accessModes!": [("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")],
            "storageClassName": str,
            "resources!": {"requests!": MAP},
        }
    },
    ("networking.k8s.io/v1", "NetworkPolicy"): {
        "spec!": {
            "podSelector!": LABELS,
            "policyTypes": [("Ingress", "Egress")],
            "ingress": [
                {
                    "from": [{"namespaceSelector": LABELS, "podSelector": LABELS, "ipBlock": {"cidr!": str}}],
                    "ports": [{"port!": PORT_REF, "protocol": ("TCP", "UDP", "SCTP")}],
                }
            ],
        }
    },
}
# Of the Helm chart, in addition: from the API references of policy/v1 and of the Prometheus operator.
CHART_KINDS = {
    ("apps/v1", "StatefulSet"): {
        "spec!": {
            "replicas": int,
            "serviceName!": str,
            "podManagementPolicy": ("OrderedReady", "Parallel"),
            "selector!": LABELS,
            "template!": TEMPLATE,
        }
    },
    ("policy/v1", "PodDisruptionBudget"): {"spec!": {"maxUnavailable": PORT_REF, "selector!": LABELS}},
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {
        "spec!": {
            "jobLabel": str,
            "selector!": LABELS,
            "endpoints!": [
                {
                    "port!": str,
                    "path": str,
                    "interval": str,
                    "scheme": ("http", "https"),
                    "tlsConfig": {"serverName": str, "ca": {"secret": KEY_REF}, "insecureSkipVerify": bool},
                    "basicAuth": {"username!": KEY_REF, "password!": KEY_REF},
                }
            ],
        }
    },
    ("monitoring.coreos.com/v1", "PrometheusRule"): {
        "spec!": {
            "groups!": [
                {
                    "name!": str,
                    "interval": str,
                    "rules!": [
                        {
                            "record": str,
                            "alert": str,
                            "expr!": str,
                            "for": str,
                            "keep_firing_for": str,
                            "labels": MAP,
                            "annotations": MAP,
                        }
                    ],
                }
            ]
        }
    },
}


def manifest_faults(manifest: object) -> list[str]:
    """Return what is wrong with a manifest's shape, each with the path to it."""
    return _faults_by_kind(manifest, KINDS)


def chart_faults(manifest: object) -> list[str]:
    """Return what is wrong with the shape of an object of the chart, each with the path to it."""
    return _faults_by_kind(manifest, KINDS | CHART_KINDS)


def _faults_by_kind(manifest: object, kinds: dict[tuple[str, str], dict[str, object]]) -> list[str]:
    if not isinstance(manifest, dict):
        return ["it is no object"]
    kind = (manifest.get("apiVersion"), manifest.get("kind"))
    if kind not in kinds:
        return [f"{kind} is no kind that is known here"]
    shape = {"apiVersion!": str, "kind!": str, "metadata!": METADATA, **kinds[kind]}
    return faults(manifest, shape, str(kind[1]))


def faults(content: object, shape: object, where: str) -> list[str]:
    """Return what of `content` does not have the shape, each with the path to it."""
    match shape:
        case dict():
            return _object_faults(content, shape, where)
        case [member]:
            if not isinstance(content, list):
                return [f"{where} is no list"]
            return [
                fault
                for number, one in enumerate(content)
                for fault in faults(one, member, f"{where}[{number}]")
            ]
        case tuple():
            fits = type(content) in shape or content in [one for one in shape if not isinstance(one, type)]
            return [] if fits else [f"{where} is {content!r}, not one of {shape}"]
        case type():
            return [] if type(content) is shape else [f"{where} is no {shape.__name__}"]
        case _:
            wrong = not isinstance(content, dict) or not all(type(one) is str for one in content.values())
            return [f"{where} is no map of texts"] if wrong else []


def _object_faults(content: object, shape: dict[str, object], where: str) -> list[str]:
    if not isinstance(content, dict):
        return [f"{where} is no object"]
    allowed = {key.removesuffix("!"): inner for key, inner in shape.items()}
    found = [f"{where}.{key} is not there" for key in allowed if f"{key}!" in shape and key not in content]
    for key, inner in content.items():
        found += (
            faults(inner, allowed[key], f"{where}.{key}")
            if key in allowed
            else [f"{where}.{key} is no key of it"]
        )
    return found
