{{- /* Names, labels and images that every object of the chart uses. */ -}}
{{- define "matte.fullname" -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- /* Of `publicUrl`; Ingress and Gateway serve it. */ -}}
{{- define "matte.host" -}}{{ (urlParse .Values.publicUrl).host | splitList ":" | first }}{{- end -}}

{{- /* What selects the pods of a component: dict "root" $ "component" "api". */ -}}
{{- define "matte.selector" -}}
app.kubernetes.io/name: matte
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "matte.labels" -}}
{{ include "matte.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The metadata of an object: dict "root" $ "component" "api" "name" "matte-api" and, if any, "annotations" and "labels". */ -}}
{{- define "matte.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "matte.labels" . | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* An image behind `image.registry`: dict "root" $ "image" "docker.io/library/nats:2". */ -}}
{{- define "matte.imageName" -}}
{{- $registry := .root.Values.image.registry | trimSuffix "/" -}}
{{- if $registry -}}{{ $registry }}/{{ .image | splitList "/" | rest | join "/" }}
{{- else -}}{{ .image }}
{{- end -}}
{{- end -}}

{{- define "matte.image" -}}
{{- $image := .Values.image -}}
{{- $end := ternary (printf "@%s" $image.digest) (printf ":%s" ($image.tag | default .Chart.AppVersion)) (ne $image.digest "") -}}
{{- include "matte.imageName" (dict "root" . "image" (printf "%s%s" $image.repository $end)) -}}
{{- end -}}

{{- /* The Secret that the setup Job makes. */ -}}
{{- define "matte.secretName" -}}{{ include "matte.fullname" . }}-secrets{{- end -}}
