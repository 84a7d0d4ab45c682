/** How a request for each verb is made; the verbs are those of Kubernetes' own permissions. */
export const requestOf = {
  get: { method: 'GET' },
  list: { method: 'GET' },
  watch: { method: 'GET' },
  apply: { method: 'PATCH', contentType: 'application/apply-patch+yaml' },
  create: { method: 'POST' },
  patch: { method: 'PATCH', contentType: 'application/merge-patch+json' },
  update: { method: 'PUT' },
  delete: { method: 'DELETE' },
} as const

export type Verb = keyof typeof requestOf
