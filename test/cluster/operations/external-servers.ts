// External servers in a separate namespace: one PostgreSQL, NATS and S3 store, without volumes.
import { afterAll, beforeAll } from 'vitest'
import { run, runOrThrow } from '../../chart/helm.ts'

type Elsewhere = {
  readonly databaseUrl: string
  readonly natsUrl: string
  readonly storeEndpoint: string
  readonly storeKeys: Record<string, string>
  /** Arguments of kubectl that print JetStream's contents. */
  readonly askNats: readonly string[]
}

const storeKeys = { S3_ACCESS_KEY_ID: 'ELSEWHERE', S3_SECRET_ACCESS_KEY: 'a-secret-of-their-own' }

/** In the namespace, which is deleted after the file. */
export function startServersElsewhere(namespace: string): Elsewhere {
  const inNamespace = ['-n', namespace]
  beforeAll(async () => {
    await runOrThrow('kubectl', ['create', 'namespace', namespace])
    const list = { apiVersion: 'v1', kind: 'List', items: [postgresql, nats, store].flatMap(podWithService) }
    await runOrThrow('kubectl', [...inNamespace, 'apply', '-f', '-'], JSON.stringify(list))
    await runOrThrow('kubectl', [...inNamespace, 'wait', 'pod', '--all', '--for=condition=Ready', '--timeout=120s'])
  })
  afterAll(async () => {
    await run('kubectl', ['delete', 'namespace', namespace, '--wait=true', '--timeout=120s'])
  })
  const host = (name: string): string => `${name}.${namespace}.svc`
  return {
    databaseUrl: `postgresql://outside:a-word@${host('postgresql')}:5432/outside`,
    natsUrl: `nats://their-token@${host('nats')}:4222`,
    storeEndpoint: `http://${host('store')}:7070`,
    storeKeys,
    askNats: ['get', '--raw', `/api/v1/namespaces/${namespace}/pods/nats:8222/proxy/jsz`],
  }
}

type Server = { readonly name: string; readonly port: number; readonly spec: object }

const env = (variables: Record<string, string>) => Object.entries(variables).map(([name, value]) => ({ name, value }))
const readyAt = (port: number) => ({ tcpSocket: { port }, periodSeconds: 1 })

const postgresql: Server = {
  name: 'postgresql',
  port: 5432,
  spec: {
    containers: [
      {
        name: 'server',
        image: 'docker.io/library/postgres:15-bookworm',
        env: env({ POSTGRES_USER: 'outside', POSTGRES_DB: 'outside', POSTGRES_PASSWORD: 'a-word' }),
        readinessProbe: {
          exec: { command: ['pg_isready', '-q', '-h', '127.0.0.1', '-U', 'outside', '-d', 'outside'] },
          periodSeconds: 1,
        },
      },
    ],
  },
}

const nats: Server = {
  name: 'nats',
  port: 4222,
  spec: {
    containers: [
      {
        name: 'server',
        image: 'docker.io/library/nats:2',
        args: ['--jetstream', '--store_dir', '/tmp/nats', '--http_port', '8222', '--auth', 'their-token'],
        readinessProbe: readyAt(4222),
      },
    ],
  },
}

const data = { name: 'data', mountPath: '/data' }
const store: Server = {
  name: 'store',
  port: 7070,
  spec: {
    volumes: [{ name: 'data', emptyDir: {} }],
    initContainers: [
      {
        name: 'bucket',
        image: 'docker.io/library/postgres:15-bookworm',
        command: ['mkdir', '-p', '/data/objects/moved', '/data/metadata'],
        volumeMounts: [data],
      },
    ],
    containers: [
      {
        name: 'server',
        image: 'docker.io/versity/versitygw:v1',
        args: ['--port', ':7070', 'posix', '--sidecar', '/data/metadata', '/data/objects'],
        env: env({ ROOT_ACCESS_KEY: storeKeys.S3_ACCESS_KEY_ID, ROOT_SECRET_KEY: storeKeys.S3_SECRET_ACCESS_KEY }),
        readinessProbe: readyAt(7070),
        volumeMounts: [data],
      },
    ],
  },
}

function podWithService({ name, port, spec }: Server): object[] {
  const labels = { app: name }
  const pod = { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, ...spec }
  return [
    { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec: pod },
    { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: labels, ports: [{ port }] } },
  ]
}
