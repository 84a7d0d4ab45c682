{{- /*
Prometheus rules from files/objectives.yaml and files/alerts/. `$(name)` in these files is replaced here; braces are
Prometheus templates.
*/ -}}

{{- /* Label matchers of the release's series. */ -}}
{{- define "matte.rules.series" -}}
{{- .Values.metrics.rules.selector | default (printf "namespace=%q" .Release.Namespace) -}}
{{- end -}}

{{- define "matte.rules.labels" -}}
namespace: {{ .Release.Namespace | quote }}
release: {{ include "matte.fullname" . }}
{{- end -}}

{{- /* A number without exponent: 21600, 99.9. */ -}}
{{- define "matte.rules.number" -}}
{{- if eq (float64 .) (float64 (int64 .)) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{- /* A file with its `$(name)` replaced: dict "root" $ "path" "files/alerts/tasks.yaml". */ -}}
{{- define "matte.rules.file" -}}
{{- $rules := .root.Values.metrics.rules -}}
{{- $text := .root.Files.Get .path | replace "$(series)" (include "matte.rules.series" .root) -}}
{{- $text = replace "$(creations)" `method="POST",route=~"/api/v1/open/developer/(tasks|tasks/:taskId/retry|batch-tasks|uploads/presign)|/v1/tasks"` $text -}}
{{- range $name, $value := merge (dict) $rules.thresholds (omit $rules.objectives "completionSeconds") -}}
{{- $text = replace (printf "$(%s)" $name) (include "matte.rules.number" $value) $text -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{- /*
Tasks that finished in time, one vector per plan. Prometheus 3 writes a bucket's bound as 30.0, older versions as 30.
*/ -}}
{{- define "matte.rules.inTime" -}}
{{- $seconds := .Values.metrics.rules.objectives.completionSeconds -}}
{{- $series := include "matte.rules.series" . -}}
{{- if not $seconds -}}{{- fail "metrics.rules.objectives.completionSeconds has no value" -}}{{- end -}}
{{- $vectors := list -}}
{{- range $plan, $limit := $seconds -}}
{{- $of := ternary (printf "plan!~%q" (join "|" (without (keys $seconds | sortAlpha) "default"))) (printf "plan=%q" $plan) (eq $plan "default") -}}
{{- $vectors = append $vectors (printf `rate(matte_task_completion_seconds_bucket{%s,status!="canceled",%s,le=~"%d(\\.0)?"}[$(window)])` $series $of (int64 $limit)) -}}
{{- end -}}
{{- join "\n    or " $vectors -}}
{{- end -}}

{{- /* An alert, unless `metrics.rules.alerts` turns it off: dict "root" $ "alert" the alert "expr" its expression. */ -}}
{{- define "matte.rules.alert" -}}
{{- $rules := .root.Values.metrics.rules -}}
{{- $own := get $rules.alerts .alert.alert | default dict -}}
{{- if ne (toString $own.enabled) "false" }}
- alert: {{ .alert.alert }}
  expr: |
    {{- .alert.expr | trim | nindent 4 }}
  for: {{ get $own "for" | default (get .alert "for") }}
  labels:
    {{- merge (dict) ($own.labels | default dict) (dict "severity" (get $rules.severities .alert.severity)) (.alert.labels | default dict)
      (include "matte.rules.labels" .root | fromYaml) | toYaml | nindent 4 }}
  annotations:
    summary: {{ .alert.summary | quote }}
    description: {{ .alert.description | quote }}
    runbook_url: {{ printf "%s/%s.md" (trimSuffix "/" $rules.runbookUrl) .alert.alert | quote }}
    runbook_command: {{ printf "kubectl -n %s get configmap %s-runbooks -o jsonpath='{.data.%s\\.md}'" .root.Release.Namespace (include "matte.fullname" .root) .alert.alert | quote }}
{{- end }}
{{- end -}}

{{- /*
Multi-window, multi-burn-rate alerts on an objective: dict "root" $ "objective" it. The long window shows that enough of
the 30-day budget was spent (2 %, 5 %, 10 % twice), the short one that it is still being spent.
*/ -}}
{{- define "matte.rules.burnRates" -}}
{{- $root := .root -}}
{{- $objective := .objective -}}
{{- $own := printf "{namespace=%q,release=%q}" .root.Release.Namespace (include "matte.fullname" .root) -}}
{{- $by := join ", " .objective.by -}}
{{- range $rate := list
  (dict "factor" "14.4" "long" "1h" "short" "5m" "for" "2m" "severity" "page")
  (dict "factor" "6" "long" "6h" "short" "30m" "for" "15m" "severity" "page")
  (dict "factor" "3" "long" "1d" "short" "2h" "for" "1h" "severity" "ticket")
  (dict "factor" "1" "long" "3d" "short" "6h" "for" "3h" "severity" "ticket") }}
{{- $limit := printf "%s * (1 - %s / 100)" $rate.factor (include "matte.rules.number" $objective.percent) }}
{{- $ratio := printf "%s%s%s" $objective.record $rate.long $own }}
{{- $expr := printf "%s > %s\nand %s%s%s > %s\nand on (%s) %s\n  * on (%s) sum by (%s) (increase(%s[%s])) >= %s"
  $ratio $limit $objective.record $rate.short $own $limit $by $ratio $by $by $objective.total $rate.long
  (include "matte.rules.number" $root.Values.metrics.rules.objectives.minimumFailures) }}
{{- $description := printf "{{ $value | humanizePercentage }} %s in the last %s; the objective is %s%%, and the 30-day error budget is spent %s times too fast."
  $objective.what $rate.long (include "matte.rules.number" $objective.percent) $rate.factor }}
{{- include "matte.rules.alert" (dict "root" $root "alert" (merge (dict "expr" $expr "description" $description "labels" (dict "window" $rate.long)) $rate $objective)) }}
{{- end }}
{{- end -}}

{{- /* All groups, in the format of a rules file. */ -}}
{{- define "matte.rules" -}}
{{- $names := list -}}
{{- $objectives := include "matte.rules.file" (dict "root" . "path" "files/objectives.yaml") | replace "$(inTime)" (include "matte.rules.inTime" .) -}}
groups:
{{- range $objective := fromYamlArray $objectives }}
{{- $names = append $names $objective.alert }}
- name: {{ include "matte.fullname" $ }}.{{ $objective.alert }}
  rules:
  {{- range $window := list "5m" "30m" "1h" "2h" "6h" "1d" "3d" }}
  - record: {{ $objective.record }}{{ $window }}
    expr: |
      {{- $objective.ratio | replace "$(window)" $window | trim | nindent 6 }}
    labels:
      {{- include "matte.rules.labels" $ | nindent 6 }}
  {{- end }}
  {{- include "matte.rules.burnRates" (dict "root" $ "objective" $objective) | nindent 2 }}
{{- end }}
{{- range $path, $_ := .Files.Glob "files/alerts/*.yaml" }}
- name: {{ include "matte.fullname" $ }}.{{ base $path | trimSuffix ".yaml" }}
  rules:
  {{- $alerts := include "matte.rules.file" (dict "root" $ "path" $path) | fromYamlArray }}
  {{- with regexFind "\\$\\(\\w+\\)" (toYaml $alerts) }}
  {{- fail (printf "metrics.rules.thresholds.%s has no value" (trimAll "$()" .)) }}
  {{- end }}
  {{- range $alert := $alerts }}
  {{- $names = append $names $alert.alert }}
  {{- include "matte.rules.alert" (dict "root" $ "alert" $alert) | nindent 2 }}
  {{- end }}
{{- end }}
{{- range $name, $_ := .Values.metrics.rules.alerts }}
{{- if not (has $name $names) }}
{{- fail (printf "metrics.rules.alerts: there is no alert %s; there are %s" $name (uniq $names | join ", ")) }}
{{- end }}
{{- end }}
{{- end -}}
