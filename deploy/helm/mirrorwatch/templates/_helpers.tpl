{{/* Name of the objects. A CronJob's name has 52 characters at most: 43 and "-checksum". */}}
{{- define "mirrorwatch.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 43 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 43 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select the pods of this release, of every component. */}}
{{- define "mirrorwatch.release" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels that select the pods of the service. */}}
{{- define "mirrorwatch.selector" -}}
{{ include "mirrorwatch.release" . }}
app.kubernetes.io/component: service
{{- end -}}

{{/* Labels of every object; a component is added where there is one. */}}
{{- define "mirrorwatch.labels" -}}
{{ include "mirrorwatch.release" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The claim of a SQLite store. */}}
{{- define "mirrorwatch.claim" -}}
{{- .Values.volume.existingClaim | default (include "mirrorwatch.fullname" .) -}}
{{- end -}}

{{/* Image of `root` and `image`. */}}
{{- define "mirrorwatch.image" -}}
image: {{ printf "%s:%s" .image.repository (.image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ .image.pullPolicy }}
{{- end -}}

{{/* What every pod has before its containers. */}}
{{- define "mirrorwatch.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/* The volume of a SQLite store is on one node: that of the service. */}}
{{- define "mirrorwatch.affinity" -}}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "mirrorwatch.selector" . | nindent 12 }}
{{- end -}}

{{/* What every container has: environment, hardening and mounts. */}}
{{- define "mirrorwatch.container" -}}
env:
  - name: MIRRORWATCH_REPLICA
    valueFrom:
      fieldRef:
        fieldPath: metadata.name
  - name: MIRRORWATCH_REPLICA_URL
    value: {{ printf "%s://$(MIRRORWATCH_REPLICA).%s-replicas:9699" (lower .Values.http.scheme) (include "mirrorwatch.fullname" .) }}
  {{- range $name, $value := .Values.env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
  {{- range $name, $key := .Values.secretEnv }}
  - name: {{ $name }}
    valueFrom:
      secretKeyRef:
        name: {{ $.Values.existingSecret }}
        key: {{ $key | quote }}
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
volumeMounts:
  - name: configuration
    mountPath: /etc/mirrorwatch
    readOnly: true
  {{- if .Values.filesSecret }}
  - name: secret-files
    mountPath: /run/secrets/mirrorwatch
    readOnly: true
  {{- end }}
  - name: store
    mountPath: /var/lib/mirrorwatch
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{/* Volumes of `root`: `claim` is the name of a volume claim, or empty, and `tmp` the size of /tmp. */}}
{{- define "mirrorwatch.volumes" -}}
- name: configuration
  configMap:
    name: {{ include "mirrorwatch.fullname" .root }}
{{- with .root.Values.filesSecret }}
- name: secret-files
  secret:
    secretName: {{ . }}
    # Group 10001 may read them.
    defaultMode: 0440
{{- end }}
- name: store
  {{- if .claim }}
  persistentVolumeClaim:
    claimName: {{ .claim }}
  {{- else }}
  emptyDir:
    sizeLimit: 64Mi
  {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: {{ .tmp }}
{{- end -}}

{{/* What a probe does: a request to `path`, or a connection if clients need a certificate. */}}
{{- define "mirrorwatch.probe" -}}
{{- if eq .root.Values.http.probe "tcp" -}}
tcpSocket:
  port: http
{{- else -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ .root.Values.http.scheme }}
  {{- with .root.Values.http.probeHeaders }}
  httpHeaders:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
{{- end -}}
