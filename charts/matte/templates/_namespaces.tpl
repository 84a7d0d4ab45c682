{{- /* Namespaces in `operator.namespaces`, without the release's. */ -}}
{{- define "matte.namespaces" -}}
{{- without (.Values.operator.namespaces | default list) .Release.Namespace | uniq | toJson -}}
{{- end -}}

{{- /*
Role and binding in each of those namespaces: dict "root" $ "component" "worker" "values" .Values.controller "rules" text.
Service account, Lease, and the pools of the values with their ConfigMap stay in the release's namespace.
*/ -}}
{{- define "matte.rightsElsewhere" -}}
{{- $name := printf "%s-%s" (include "matte.fullname" .root) .component -}}
{{- $given := . -}}
{{- $rules := list -}}
{{- range $rule := (fromYaml .rules).rules -}}
{{- if has "tritonpools" $rule.resources -}}{{- $rule = merge (dict "verbs" (list "get" "list" "watch")) $rule -}}{{- end -}}
{{- if not (or (has "leases" $rule.resources) (has "configmaps" $rule.resources)) -}}{{- $rules = append $rules $rule -}}{{- end -}}
{{- end -}}
{{- range $namespace := include "matte.namespaces" .root | fromJsonArray }}
{{- $metadata := dict "root" $given.root "component" $given.component "name" $name "namespace" $namespace }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "matte.metadata" $metadata | nindent 2 }}
rules:
  {{- range $rules }}
  - {{ toJson . }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "matte.metadata" $metadata | nindent 2 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ $name }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "matte.serviceAccountName" $given }}, namespace: {{ $given.root.Release.Namespace | quote }} }
{{- end }}
{{- end -}}

{{- /* Namespaces in which a monitor finds Triton pods: the release's and `operator.namespaces`. */ -}}
{{- define "matte.monitoredNamespaces" -}}
namespaceSelector:
  matchNames: {{ prepend (include "matte.namespaces" . | fromJsonArray) .Release.Namespace | toJson }}
{{- end -}}

{{- /* NetworkPolicy peer: the pods of a component, for a policy in another namespace. */ -}}
{{- define "matte.peerFrom" -}}
{{- if .namespace }}
namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ .root.Release.Namespace | quote }} } }
{{- end }}
{{ include "matte.peer" . }}
{{- end -}}

{{- /* NetworkPolicy peer: pool pods in those namespaces. */ -}}
{{- define "matte.poolsElsewhere" -}}
{{- with include "matte.namespaces" . | fromJsonArray }}
- namespaceSelector: { matchExpressions: [{ key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }} }] }
  podSelector:
    {{- include "matte.poolPods" $ | nindent 4 }}
{{- end }}
{{- end -}}

{{- /* NetworkPolicy of Triton pods: dict "root" $, optional "namespace" if it is not the release's. */ -}}
{{- define "matte.tritonPolicy" -}}
{{- $root := .root -}}
# Triton pods: inference from the worker, model state for the operator, metrics for Prometheus.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- /* Pods that outlive the release keep their policy. */}}
  {{- $kept := $root.Values.pools.keep | ternary (dict "helm.sh/resource-policy" "keep") dict }}
  {{- include "matte.metadata" (merge (dict "component" "triton" "name" (printf "%s-triton" (include "matte.fullname" $root)) "annotations" $kept) .) | nindent 2 }}
spec:
  podSelector:
    {{- include "matte.poolPods" $root | nindent 4 }}
  policyTypes: [Ingress, Egress]
  ingress:
    # Inference and model state over gRPC.
    - from:
        - {{- include "matte.peerFrom" (merge (dict "component" "worker") .) | trim | nindent 10 }}
        - {{- include "matte.peerFrom" (merge (dict "component" "operator") .) | trim | nindent 10 }}
      ports: [{ port: 8001 }]
    # Triton's metrics. HTTP stays closed; the kubelet's probes need no rule.
    - ports: [{ port: 8002 }]
      {{- with $root.Values.networkPolicy.metricsFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- with $root.Values.networkPolicy.tritonEgress }}
  egress:
    # Rules from networkPolicy.tritonEgress.
    {{- toYaml . | nindent 4 }}
    {{- include "matte.egressDns" $root | nindent 4 }}
  {{- end }}
{{- end -}}
