{{/* Return `sqlite` or `postgresql`, by store.url. Refuse a configuration that cannot work in a pod. */}}
{{- define "mirrorwatch.store" -}}
{{- $file := fromYaml .Values.configuration -}}
{{- with $file.Error -}}
{{- fail (printf "configuration: invalid YAML; fix mirrorwatch.yaml: %s" .) -}}
{{- end -}}
{{- $store := $file.store | default dict -}}
{{- $http := $file.http | default dict -}}
{{- range $name, $section := dict "store" $store "http" $http -}}
{{- if not (kindIs "map" $section) -}}
{{- fail (printf "configuration: %s must be a mapping; run `mirrorwatch check` on the file" $name) -}}
{{- end -}}
{{- end -}}
{{- $listen := toString ($http.listen | default "127.0.0.1:9699") -}}
{{- if not (or (contains "${" $listen) (regexMatch "^(0\\.0\\.0\\.0|\\[::\\])?:9699$" $listen)) -}}
{{- fail (printf "configuration: http.listen is '%s'; write \"0.0.0.0:9699\", the address that probes and service use" $listen) -}}
{{- end -}}
{{- $url := toString ($store.url | default "sqlite:///mirrorwatch.db") -}}
{{- $sqlite := hasPrefix "sqlite" $url -}}
{{- if and $sqlite (not (regexMatch "^sqlite:////var/lib/mirrorwatch/[^/]+$" $url)) -}}
{{- fail (printf "configuration: store.url is '%s', which the pod cannot write; write \"sqlite:////var/lib/mirrorwatch/mirrorwatch.db\"" $url) -}}
{{- end -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- if $sqlite -}}
{{- fail (printf "replicas: %d replicas cannot share a SQLite store; set store.url to a PostgreSQL database, or replicas to 1" (int .Values.replicas)) -}}
{{- end -}}
{{- if not (contains "${env:MIRRORWATCH_REPLICA}" (toString $store.replica)) -}}
{{- fail "configuration: store.replica must differ in each replica; write replica: \"${env:MIRRORWATCH_REPLICA}\" in the section store" -}}
{{- end -}}
{{- if not $store.group -}}
{{- fail "configuration: store.group is missing, so each replica would watch everything; write group: mirrorwatch in the section store" -}}
{{- end -}}
{{- if not (contains "${env:MIRRORWATCH_REPLICA_URL}" (toString $http.replica_url)) -}}
{{- fail "configuration: other replicas would not reach http.replica_url; write replica_url: \"${env:MIRRORWATCH_REPLICA_URL}\" in the section http" -}}
{{- end -}}
{{- end -}}
{{- $shards := int ($store.shards | default 1) -}}
{{- if and (gt $shards 1) (le (int .Values.replicas) $shards) -}}
{{- fail (printf "replicas: %d replicas for %d shards leave no standby; set replicas to %d or more" (int .Values.replicas) $shards (add $shards 1)) -}}
{{- end -}}
{{- if hasKey .Values.files "mirrorwatch.yaml" -}}
{{- fail "files: mirrorwatch.yaml is the text of `configuration`; remove it from `files`" -}}
{{- end -}}
{{- range $value, $entries := dict "env" .Values.env "secretEnv" .Values.secretEnv -}}
{{- range $name := list "MIRRORWATCH_REPLICA" "MIRRORWATCH_REPLICA_URL" -}}
{{- if hasKey $entries $name -}}
{{- fail (printf "%s: the chart sets %s itself; remove it" $value $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := .Values.env -}}
{{- if hasKey $.Values.secretEnv $name -}}
{{- fail (printf "env: secretEnv sets %s too; remove one of the two" $name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $text := .Values.files -}}
{{- if and (eq $.Values.http.probe "http") (regexMatch "(?m)^[^#\n]*client_auth_type\\W+RequireAndVerifyClientCert" $text) -}}
{{- fail (printf "http.probe: the kubelet has no certificate, which %s requires of clients; set http.probe to tcp" $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.secretEnv (not .Values.existingSecret) -}}
{{- fail "existingSecret: missing, and secretEnv refers to it; set the name of the secret" -}}
{{- end -}}
{{- if and .Values.report.enabled (not $sqlite) (not .Values.report.existingClaim) -}}
{{- fail "report.existingClaim: missing; with a PostgreSQL store, set the name of a volume claim for the reports" -}}
{{- end -}}
{{- $sqlite | ternary "sqlite" "postgresql" -}}
{{- end -}}
