{{- define "bpf-bbr.name" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name }}
{{- if contains .Chart.Name .Release.Name }}{{ $name = .Release.Name }}{{ end }}
{{- $name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "bpf-bbr.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bpf-bbr.metadata" -}}
name: {{ include "bpf-bbr.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "bpf-bbr.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* A container that was privileged stays so: it must be able to restore a default that it has set. */}}
{{- define "bpf-bbr.privileged" -}}
{{- $is := regexMatch "(?m)^\\s*default_in\\s*=" .Values.config }}
{{- $now := lookup "apps/v1" "DaemonSet" .Release.Namespace (include "bpf-bbr.name" .) }}
{{- range dig "spec" "template" "spec" "containers" list $now }}
{{- $is = or $is (dig "securityContext" "privileged" false .) }}
{{- end }}
{{- if kindIs "bool" .Values.privileged }}{{ .Values.privileged }}{{ else }}{{ $is }}{{ end }}
{{- end }}

{{- define "bpf-bbr.for-pods" -}}
{{- regexMatch "(?m)^\\s*(attach|rule)\\s*=[^;]*--pod\\s" .Values.config }}
{{- end }}

{{- /* Conditions of labels come after a comma. */}}
{{- define "bpf-bbr.for-pod-labels" -}}
{{- regexMatch "(?m)^\\s*(attach|rule)\\s*=[^;]*--pod\\s+[^\\s;,]+," .Values.config }}
{{- end }}

{{- /* bbrctl apply with its options, as the items of a list. */}}
{{- define "bpf-bbr.apply" -}}
- bbrctl
- apply
{{- range .options }}
- {{ . }}
{{- end }}
{{- with .instance }}
- --name
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "bpf-bbr.capabilities" -}}
readOnlyRootFilesystem: true
# The programs read the namespaces of other processes, which AppArmor's profile for containers forbids.
appArmorProfile: {type: Unconfined}
seccompProfile: {type: RuntimeDefault}
capabilities:
  drop: [ALL]
  add: [{{ join ", " . }}]
{{- end }}
