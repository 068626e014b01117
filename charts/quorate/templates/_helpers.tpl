{{- /* Names, the image and the options of the operator. Called with the root, $. */ -}}

{{- define "quorate.name" -}}
{{- .Values.fullnameOverride | default "quorate" -}}
{{- end -}}

{{- define "quorate.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "quorate.name" .) -}}
{{- end -}}

{{- define "quorate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "quorate.priorityClassName" -}}
{{- if .Values.priorityClass.create -}}
{{ include "quorate.name" . }}-operator
{{- else -}}
{{ .Values.priorityClass.name }}
{{- end -}}
{{- end -}}

{{- /* A list of CEL: what all users may name as image.repository. */}}
{{- define "quorate.imageRepositories" -}}
['gcr.io/etcd-development/etcd'
{{- with .Values.etcdImageRepository }}, '{{ . }}'{{ end }}
{{- range .Values.admissionPolicies.imageRepositories }}, '{{ . }}'{{ end }}]
{{- end -}}

{{- define "quorate.volumes" -}}
{{- with .Values.metrics.certificateSecret -}}
- name: metrics-certificates
  secret:
    secretName: {{ . }}
{{- end -}}
{{- end -}}

{{- define "quorate.volumeMounts" -}}
{{- with .Values.metrics.certificateSecret -}}
- name: metrics-certificates
  mountPath: /etc/quorate/metrics
  readOnly: true
{{- end -}}
{{- end -}}

{{- define "quorate.args" -}}
{{- if and .Values.metrics.certificateSecret (not .Values.metrics.secure) -}}
{{- fail "metrics.certificateSecret: only with metrics.secure=true" -}}
{{- end -}}
{{- if and .Values.watch.namespaces .Values.watch.excludedNamespaces -}}
{{- fail "watch.excludedNamespaces: only while watch.namespaces is empty. Leave the excluded ones out of watch.namespaces instead." -}}
{{- end -}}
- operator
{{- with .Values.watch.namespaces }}
- --namespace={{ join "," . }}
{{- end }}
{{- with .Values.watch.excludedNamespaces }}
- --exclude-namespace={{ join "," . }}
{{- end }}
{{- /* Two installations in one namespace have a lease each. */}}
{{- if ne (include "quorate.name" .) "quorate" }}
- --lease-name={{ include "quorate.name" . }}
{{- end }}
{{- with .Values.clusterDomain }}
- --cluster-domain={{ . }}
{{- end }}
{{- with .Values.etcdImageRepository }}
- --etcd-image-repository={{ . }}
{{- end }}
{{- if .Values.metrics.secure }}
- --metrics-secure
{{- if .Values.metrics.certificateSecret }}
- --metrics-certificates=/etc/quorate/metrics
{{- end }}
{{- end }}
{{- if ne .Values.logLevel "info" }}
- --log-level={{ .Values.logLevel }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
