// The rooms of the house: who may import whom, and what else the checks have to be told. A room is a folder or a file,
// named by its path without `src`. It holds every file below it that no longer name claims. It shows the files that lie
// directly in its folder; what lies in folders below is its own.

/** Where the names below begin. The longest path that fits counts, so `api/core/src` is not a part of `api/src`. */
export const roots: Readonly<Record<string, string>> = {
  core: 'api/core/src',
  api: 'api/src',
  controller: 'controller/src',
  dispatcher: 'dispatcher/src',
  local: 'local/src',
  docs: 'docs/generate',
  protos: 'protos',
}

/** Imports that each noun of the domain may have: errors, keys of addresses, rows and their types. */
const rows = ['core/error.ts', 'core/address.ts', 'core/db']

/** Accounts, logins, passwords and sessions know each other, since one transaction changes several of them. */
const signIn = [
  ...[...rows, 'core/runtime', 'core/workspace', 'core/notification', 'core/mail', 'core/identity'],
  ...['core/identity/account', 'core/identity/login', 'core/identity/password', 'core/identity/session'],
  'core/identity/two-factor',
]

const operatorLowest = ['core', 'controller/operator/kube', 'controller/operator/pool', 'controller/operator/scale']

/**
 * Room → the rooms that it may import; one that is named brings the rooms below it. Files of one room import each other
 * freely. Each list is meant to be the shortest that holds: lengthen it in the same commit as the code, with a reason.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  // The domain: batch → task → webhook, credit, upload → workspace, and below them the four edges, which know no noun.
  'core/error.ts': [],
  'core/address.ts': [],
  'core/runtime': [],
  'core/runtime/concurrency': [],
  'core/runtime/metrics': [],
  'core/bus': ['core/runtime'],
  'core/storage': ['core/runtime'],
  'core/db/tables': [],
  'core/db/metrics': ['core/runtime'],
  // Database roles of the processes: their rights as data, and the SQL that grants them.
  'core/db/roles': ['core/db', 'core/db/tables'],
  // Migrations compute the keys of addresses.
  'core/db': ['core/address.ts', 'core/db/tables', 'core/db/metrics', 'core/db/roles', 'core/runtime'],
  'core/idempotency': rows,
  'core/model': rows,
  'core/rate-limit': rows,
  'core/setting': [...rows, 'core/runtime'],
  'core/workspace': [...rows, 'core/runtime'],
  'core/workspace/limit': [...rows, 'core/workspace'],
  'core/workspace/secret': [...rows, 'core/runtime'],
  // Making a key is asked for once.
  'core/workspace/key': [...rows, 'core/idempotency', 'core/workspace'],
  'core/audit': [...rows, 'core/runtime'],
  // People, their sessions and tokens; mail and notifications go to them.
  'core/identity': [
    ...[...rows, 'core/runtime', 'core/workspace', 'core/notification', 'core/mail', 'core/webhook'],
    ...['core/identity/session', 'core/identity/two-factor'],
  ],
  // A verified address brings the credits of the plan Free; what an operator does to somebody is in the log.
  // The fields of `welcome` are those of its later delivery.
  'core/identity/account': [...signIn, 'core/credit', 'core/audit', 'core/identity/free-credits', 'core/webhook'],
  // Mailboxes that had the credits of the plan Free; their HMACs outlive the account.
  'core/identity/free-credits': [...rows, 'core/runtime', 'core/credit'],
  'core/identity/login': signIn,
  'core/identity/password': signIn,
  'core/identity/session': signIn,
  'core/identity/two-factor': signIn,
  // The PDFs of a person's invoices are deleted.
  'core/identity/personal': [...signIn, 'core/identity/free-credits', 'core/storage'],
  'core/identity/email': [...signIn, 'core/identity/personal'],
  'core/mail': [...rows, 'core/runtime'],
  'core/notification': [...rows, 'core/runtime', 'core/workspace', 'core/webhook', 'core/mail'],
  'core/team': [
    ...[...rows, 'core/idempotency', 'core/workspace', 'core/credit'],
    // Its log, where the request does not name it; the keys of members who go, and the endpoints of a team that does.
    ...['core/audit', 'core/workspace/key', 'core/webhook/endpoint'],
    // Mails to owners about the endpoints of a member who goes.
    ...['core/runtime', 'core/mail', 'core/webhook/failing'],
  ],
  'core/team/invite': [
    ...[...rows, 'core/runtime', 'core/idempotency', 'core/workspace', 'core/audit'],
    ...['core/notification', 'core/mail', 'core/team'],
  ],
  'core/referral': [
    ...[...rows, 'core/runtime', 'core/idempotency', 'core/workspace', 'core/credit'],
    ...['core/notification', 'core/mail'],
  ],
  'core/referral/due': [...rows, 'core/workspace', 'core/referral'],
  // Money: orders, subscriptions, refunds, invoices; the providers beside them know no noun.
  'core/payment/provider': ['core/error.ts', 'core/runtime'],
  'core/payment/provider/stripe': ['core/error.ts', 'core/runtime', 'core/payment/provider'],
  // The sandbox has tables of its own, which nothing else reads.
  'core/payment/provider/sandbox': [
    'core/error.ts',
    'core/runtime',
    'core/db',
    'core/payment/provider',
    'core/webhook',
  ],
  'core/payment/rows': rows,
  'core/payment': [
    ...[...rows, 'core/runtime', 'core/idempotency', 'core/workspace', 'core/credit', 'core/notification'],
    // PDFs of invoices are objects of the store.
    ...['core/payment/provider', 'core/payment/rows', 'core/storage'],
  ],
  'core/credit': [...rows, 'core/workspace', 'core/credit/member'],
  // What their owners read of them, page by page.
  'core/credit/member': rows,
  'core/credit/list': rows,
  // What falls due of credits: it publishes events.
  'core/credit/due': [...rows, 'core/workspace', 'core/credit', 'core/notification'],
  'core/usage': [...rows, 'core/workspace'],
  'core/upload': [...rows, 'core/storage', 'core/workspace'],
  'core/webhook/target': [],
  'core/webhook': [...rows, 'core/runtime', 'core/workspace', 'core/webhook/target'],
  'core/webhook/delivery': [...rows, 'core/workspace', 'core/webhook', 'core/webhook/endpoint'],
  'core/webhook/endpoint': [...rows, 'core/runtime', 'core/idempotency', 'core/workspace', 'core/webhook'],
  'core/webhook/failing': [
    ...[...rows, 'core/runtime', 'core/workspace', 'core/mail'],
    ...['core/webhook', 'core/webhook/endpoint'],
  ],
  'core/task': [
    ...rows,
    ...['core/storage', 'core/idempotency', 'core/workspace', 'core/credit', 'core/upload', 'core/webhook'],
  ],
  'core/task/history': rows,
  // Two processes end runs and count them alike, so what is counted is defined where runs end.
  'core/task/run': [...rows, 'core/runtime/metrics', 'core/workspace', 'core/credit', 'core/webhook', 'core/task'],
  // Many objects are inspected at once, in a bounded number.
  'core/batch': [
    ...rows,
    ...[
      'core/runtime',
      'core/storage',
      'core/idempotency',
      'core/workspace',
      'core/credit',
      'core/upload',
      'core/task',
    ],
  ],
  'core/scale': [...rows, 'core/workspace', 'core/task'],
  // What metrics are read from: statements over rows of any noun.
  'core/sample': [...rows, 'core/model', 'core/workspace'],
  // What was deleted is told to people too, and what they were told or have done is deleted in its time.
  'core/retention': [
    ...[...rows, 'core/storage', 'core/workspace', 'core/credit', 'core/webhook'],
    ...['core/notification', 'core/mail', 'core/audit'],
  ],

  // HTTP: main, services and app → routes → http, views → schemas.
  api: ['api', 'core'],
  'api/config.ts': [
    ...['core/bus', 'core/runtime', 'core/workspace', 'core/webhook/target', 'core/payment', 'core/audit'],
    ...['api/settings', 'api/pages/pages-path.ts'],
  ],
  'api/settings': ['core/runtime'],
  'api/access.ts': ['core'],
  'api/uuid.ts': [],
  'api/client-address.ts': [],
  'api/envelope.ts': ['core/error.ts', 'api/access.ts'],
  'api/errors/http-status.ts': ['core/error.ts'],
  'api/errors': ['core', 'api/envelope.ts', 'api/errors/http-status.ts', 'api/schemas', 'api/access.ts'],
  'api/model-cache.ts': ['core'],
  'api/waits': ['core'],
  'api/schemas': ['core', 'api/errors/http-status.ts'],
  'api/schemas/app': ['core', 'api/schemas', 'api/errors/http-status.ts'],
  'api/views': ['core', 'api/schemas', 'api/schemas/app', 'api/uuid.ts'],
  'api/views/app': ['core', 'api/schemas', 'api/schemas/app', 'api/views'],
  // PDFs of invoices: printed in a thread, kept in the store.
  'api/invoice': ['core', 'api/views/app'],
  'api/samples': ['core'],
  'api/stream': ['core', 'api/errors', 'api/limit', 'api/views', 'api/views/app'],
  'api/limit': ['core', 'api/errors', 'api/access.ts'],
  'api/auth': ['core', 'api/limit', 'api/settings', 'api/access.ts', 'api/uuid.ts'],
  'api/http': ['core', 'api/errors', 'api/schemas', 'api/schemas/app', 'api/access.ts', 'api/client-address.ts'],
  // HTML for people: the document around a page, its forms and its errors.
  'api/pages/pages-path.ts': [],
  'api/pages': ['core', 'api/errors', 'api/access.ts', 'api/pages/pages-path.ts'],
  'api/routes': ['core', 'api/http'],
  // What both surfaces have is one code with two fronts.
  'api/routes/task': [
    ...['core', 'api/http', 'api/views', 'api/schemas', 'api/uuid.ts', 'api/access.ts', 'api/errors'],
    ...['api/model-cache.ts', 'api/waits'],
  ],
  'api/routes/both': [
    ...['core', 'api/http', 'api/views', 'api/schemas', 'api/access.ts', 'api/uuid.ts', 'api/waits'],
    'api/routes/task',
  ],
  'api/routes/legacy': ['core/storage', 'api/routes/task'],
  'api/routes/app': [
    ...['core', 'api/http', 'api/views', 'api/views/app', 'api/schemas', 'api/schemas/app', 'api/limit', 'api/auth'],
    ...['api/stream', 'api/client-address.ts', 'api/invoice', 'api/pages', 'api/pages/pages-path.ts'],
    ...['api/routes/task', 'api/routes/both'],
    ...['api/config.ts', 'api/uuid.ts', 'api/model-cache.ts', 'api/waits'],
  ],
  'api/admin': ['core', 'api/uuid.ts'],

  // The worker: slots and runs → routing → Triton; pixels know nobody.
  controller: ['controller', 'core'],
  'controller/worker': ['controller/worker', 'core'],
  'controller/worker/routing': ['controller/worker/triton', 'core/model', 'core/runtime'],
  'controller/worker/triton': ['core/runtime', 'protos/triton'],
  'controller/worker/image': ['core/db/tables', 'core/task', 'controller/worker/masks'],
  'controller/worker/masks': [],

  // The operator: wiring → reconcile → rollout, specs → status → pool → scale, and Kubernetes beside them. The worker's
  // process takes its pods from operator/pool-routing.ts there, or from worker/static-mode.ts.
  'controller/worker/serving.ts': ['core', 'controller/worker/routing'],
  'controller/worker/install-models.ts': ['core', 'controller/worker/routing'],
  'controller/operator': [
    ...['core', 'controller/operator', 'controller/worker/routing', 'controller/worker/triton'],
    ...['controller/worker/serving.ts', 'controller/worker/install-models.ts'],
  ],
  'controller/operator/reconcile': [
    ...operatorLowest,
    ...['controller/operator/rollout', 'controller/operator/specs', 'controller/operator/reconcile/observe'],
    'core/model',
  ],
  'controller/operator/reconcile/observe': [
    ...operatorLowest,
    ...['controller/operator/rollout', 'controller/operator/specs'],
    ...['controller/worker/routing', 'controller/worker/triton'],
  ],
  'controller/operator/rollout': ['controller/operator/pool', 'controller/operator/scale'],
  'controller/operator/specs': ['controller/operator/pool', 'controller/operator/kube', 'controller/worker/triton'],
  'controller/operator/specs/restricted': [
    ...['controller/operator/pool', 'controller/operator/kube', 'controller/operator/specs', 'core/model'],
  ],
  'controller/operator/pool/status': ['controller/operator/pool', 'controller/operator/scale', 'core/scale'],
  'controller/operator/pool/field.ts': [],
  'controller/operator/pool/spec': ['controller/operator/pool/field.ts'],
  'controller/operator/pool': [
    ...['controller/operator/pool/spec', 'controller/operator/pool/field.ts', 'controller/operator/scale'],
    ...['controller/operator/kube', 'core/model', 'core/scale'],
  ],
  // The type of the demand alone, which core measures: nothing of core runs here.
  'controller/operator/scale': ['core/scale'],
  'controller/operator/kube': ['core/runtime'],

  dispatcher: ['core', 'dispatcher'],
  'dispatcher/attempt-slots.ts': ['core'],
  // What falls due beside webhooks → mails and the ways out for them.
  'dispatcher/due': ['core', 'dispatcher/attempt-slots.ts', 'dispatcher/mail'],
  'dispatcher/mail': ['core', 'dispatcher/settings'],
  'dispatcher/egress': ['core', 'dispatcher/settings'],
  'protos/triton': [],

  // Local mode knows the settings of the processes, and nothing else of them. Documents are made of anything.
  'controller/config.ts': ['core', 'controller/worker/routing'],
  'controller/operator-config.ts': ['core', 'controller/config.ts', 'controller/pod-service-accounts.ts'],
  'controller/pod-service-accounts.ts': [],
  'dispatcher/config.ts': ['core', 'dispatcher/settings'],
  'dispatcher/settings': ['core'],
  local: ['local', 'core/db', 'core/storage', 'api/config.ts', 'controller/config.ts', 'dispatcher/config.ts'],
  'local/paths.ts': [],
  'local/say.ts': [],
  'local/install': ['local/paths.ts', 'local/say.ts'],
  'local/ports': [],
  'local/lifecycle': ['local/ports'],
  // `make up` makes the schema and the roles.
  'local/servers': [
    ...['local/install', 'local/lifecycle', 'local/ports', 'local/paths.ts', 'local/say.ts'],
    ...['core/db', 'core/runtime'],
  ],
  docs: ['core', 'api', 'controller', 'dispatcher', 'local'],
}

/** Libraries that are an edge: who may import them. Any other is free where its package declares it. */
export const edgeLibraries: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['core/storage'],
  '@aws-sdk/s3-request-presigner': ['core/storage'],
  '@grpc/grpc-js': ['controller/worker/triton'],
  '@grpc/proto-loader': ['controller/worker/triton'],
  '@kubernetes/client-node': ['controller/operator/kube'],
  '@nats-io/jetstream': ['core/bus'],
  '@nats-io/nats-core': ['core/bus'],
  '@nats-io/transport-node': ['core/bus'],
  '@node-rs/argon2': ['core/identity'],
  fastify: ['api'],
  jose: ['core/identity'],
  nodemailer: ['dispatcher'],
  otpauth: ['core/identity/two-factor'],
  stripe: ['core/payment/provider'],
  kysely: ['core'],
  pg: ['core/db', 'local'],
  piscina: ['controller/worker/image', 'api/invoice'],
  qr: ['api'],
  sharp: ['controller/worker/image', 'local'],
  undici: ['core/storage', 'api', 'dispatcher'],
}

/** Files that are started and not imported. */
export const programs: readonly string[] = [
  'api/src/main.ts',
  'api/src/try/main.ts',
  'controller/src/setup/main.ts',
  'api/src/admin/main.ts',
  'controller/src/main.ts',
  'dispatcher/src/main.ts',
  'charts/image/write-sbom.ts',
  'docs/generate/chart/package.ts',
  'docs/generate/check-references.ts',
  'docs/generate/generate.ts',
  'docs/generate/lint-contract.ts',
  'docs/generate/mails/show.ts',
  ...['admin', 'demo', 'down', 'install/missing-packages', 'logs', 'models/add', 'models/fetch-isnet', 'up'].map(
    (name) => `local/src/${name}.ts`,
  ),
]

/** Tables and schemas: long by nature, with a name for each thing that they describe. Folders or files. */
export const tables: readonly string[] = [
  'api/core/src/db/migrations',
  'api/core/src/db/tables',
  'api/core/src/payment/provider/provider.ts',
  'api/src/schemas',
  'controller/src/operator/pool/pool-spec.ts',
  'controller/src/operator/pool/spec',
  'controller/src/operator/pool/pool-status.ts',
  'docs/generate/chart/dashboards/platform.ts',
  'docs/generate/pool-scenarios.ts',
  'test/house/layers.ts',
]
