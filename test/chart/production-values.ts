/** Minimal values accepted by `mode: production`. */
export const production = {
  mode: 'production',
  publicUrl: 'https://matte.example.com',
  database: { builtIn: false, existingSecret: { name: 'database' } },
  nats: { builtIn: false, existingSecret: { name: 'nats' } },
  objectStore: { builtIn: false, endpoint: 'https://s3.example.com', existingSecret: { name: 'store' } },
  masterKeys: { existingSecret: { name: 'keys' } },
  controller: { replicas: 2 },
  dispatcher: { replicas: 2 },
  networkPolicy: {
    egress: {
      database: { to: [{ ipBlock: { cidr: '10.0.12.0/24' } }] },
      nats: { to: [{ namespaceSelector: { matchLabels: { team: 'data' } } }] },
      objectStore: { to: [{ ipBlock: { cidr: '198.51.100.0/24' } }] },
    },
  },
}
