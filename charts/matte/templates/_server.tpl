{{- /*
A built-in server: a headless Service and a StatefulSet of one pod with a volume. dict "root" $ "component" "nats"
"values" .Values.natsServer "uid" 1000 "ports" a map, "container" further fields of the container as text, "env" its variables as
text, "mountPath" of the volume, "volumes" more volumes as text, "config" text whose change restarts the pod.
*/ -}}
{{- define "matte.server" -}}
{{- $root := .root -}}
{{- $pod := .values.pod -}}
{{- $name := printf "%s-%s" (include "matte.fullname" $root) .component -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "matte.metadata" (merge (dict "name" $name) .) | nindent 2 }}
spec:
  clusterIP: None
  ipFamilyPolicy: {{ ternary "PreferDualStack" "SingleStack" $root.Values.ipv6 }}
  selector:
    {{- include "matte.selector" . | nindent 4 }}
  ports:
    {{- range $port, $number := .ports }}
    - { name: {{ $port }}, port: {{ $number }} }
    {{- end }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  {{- include "matte.metadata" (merge (dict "name" $name) .) | nindent 2 }}
spec:
  replicas: 1
  serviceName: {{ $name }}
  selector:
    matchLabels:
      {{- include "matte.selector" . | nindent 6 }}
  template:
    metadata:
      {{- $config := .config | default "" | sha256sum | trunc 8 }}
      {{- include "matte.podMetadata" (dict "root" $root "component" .component "pod" $pod "annotations" (dict "matte.dev/config" $config)) | nindent 6 }}
    spec:
      {{- include "matte.pullSecrets" $root | nindent 6 }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
      securityContext:
        {{- include "matte.podSecurity" . | nindent 8 }}
      {{- include "matte.scheduling" (dict "root" $root "component" .component "pod" $pod) | nindent 6 }}
      {{- with .initContainers }}
      initContainers:
        {{- . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "matte.imageName" (dict "root" $root "image" .values.image) }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          {{- .container | nindent 10 }}
          {{- if or .env $pod.extraEnv }}
          env:
            {{- with .env }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with $pod.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
          {{- include "matte.extraEnvFrom" $pod | nindent 10 }}
          ports:
            {{- range $port, $number := .ports }}
            - { name: {{ $port }}, containerPort: {{ $number }} }
            {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            {{- include "matte.containerSecurity" . | nindent 12 }}
          volumeMounts:
            - { name: data, mountPath: {{ .mountPath }} }
            - { name: tmp, mountPath: /tmp }
            {{- with .mounts }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with $pod.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- with $pod.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
        - { name: tmp, emptyDir: {} }
        {{- with .volumes }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with $pod.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: data
        labels:
          {{- include "matte.selector" . | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .values.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources: { requests: { storage: {{ .values.storage }} } }
{{- end -}}
