// Imports that the packages and folders of the repository may have. `make check` fails on any other.
// A package.json guards which package may import which; these rules guard directions inside a package too.
import { Visitor } from '@swc/core/Visitor.js'

// swc's visitor throws at a `using` declaration. Its initializers are visited like those of `const`.
const { visitStatement } = Visitor.prototype
Visitor.prototype.visitStatement = function (node) {
  const isUsing = node.type === 'UsingDeclaration'
  return visitStatement.call(this, isUsing ? { ...node, type: 'VariableDeclaration', declarations: node.decls } : node)
}

const builds = String.raw`^(vitest|rolldown)\.config\.ts$|^api/console/(vite\.config|build)\.ts$|^clients/(typescript/|cli/)?build\.ts$`
export const testCode = String.raw`^(test|clients/conformance)/|\.(test|fixtures)\.ts$|${builds}`
const packages =
  '^(api/console|api/core|api/people|api|clients/(typescript|cli|conformance)|controller|dispatcher|docs/generate|docs/site|local|protos|test)/'

/** Production code of the folder imports, from this repository, only its own files and these. */
const onlyImports = (folder, allowed, reason) => ({
  name: `${folder.replace('/src', '')} imports ${allowed.join(', ') || 'nothing of ours'}`.replaceAll('/src', ''),
  comment: reason,
  severity: 'error',
  from: { path: `^${folder}/`, pathNot: testCode },
  to: { path: packages, pathNot: [folder, ...allowed].map((path) => `^${path}(/|$)`) },
})

/** Production code imports the library only in these folders. */
const edge = (library, ...folders) => ({
  name: `${library} only in ${folders.join(', ')}`.replaceAll('/src', ''),
  comment: 'This library does I/O or owns native memory, so one folder wraps it for the rest.',
  severity: 'error',
  from: { path: packages, pathNot: [...folders.map((folder) => `^${folder}/`), testCode] },
  to: { path: `node_modules/${library}/` },
})

/** Files that a process, a person or a worker thread starts, so nothing imports them. */
const programs = [
  '(api|controller|dispatcher)/src/.*main',
  'api/console/src/(main|routes/.*|routeTree[.]gen)',
  'api/src/invoice/pdf-worker',
  'controller/src/worker/image/cut-out-worker',
  'local/src/(admin|demo|down|logs|up|install/missing-packages|models/(add|fetch-isnet))',
  'clients/(typescript/src/(index|app/index|files/none)|cli/src/main)',
  'docs/site/(build|[.]vitepress/(config|theme/index))',
  'docs/generate/(generate|lint-contract|check-references|chart/package|mails/show)',
].map((path) => String.raw`^${path}\.tsx?$`)

export default {
  forbidden: [
    {
      name: 'no cycles',
      comment: 'Move what both files need into a file that both import. Types and tests count.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    onlyImports('api/core/src', [], 'No task knows a person: core has no accounts, no HTTP and no models.'),
    onlyImports('api/people/src', ['api/core/src']),
    onlyImports('api/console', ['clients/typescript'], 'The console calls the service as every other client does.'),
    onlyImports('api/src', ['api/core/src', 'api/people/src']),
    onlyImports('controller/src', ['api/core/src', 'protos'], 'Pods that run photos know no accounts.'),
    onlyImports('dispatcher/src', ['api/core/src', 'api/people/src']),
    onlyImports('protos', []),
    onlyImports('clients/typescript', [], 'A client knows the service by its interface alone.'),
    onlyImports('clients/cli', ['clients/typescript']),
    onlyImports(
      'local/src',
      ['api/core/src/(db|storage|runtime)', '(api|controller|dispatcher)/src/config.ts'],
      'Local mode knows the settings of the processes and starts them; it runs none of their code.',
    ),
    onlyImports('api/core/src/(runtime|bus|storage|db)', ['api/core/src/[^/]+[.]ts'], 'Edges know no noun.'),
    onlyImports('controller/src/worker/image', ['controller/src/worker/augmentation', 'api/core/src/(task|db/tables)']),
    onlyImports('controller/src/worker', ['api/core/src', 'protos'], 'The worker changes nothing in the cluster.'),
    onlyImports('controller/src/operator/scale', ['api/core/src/scale'], 'The scaling rule is pure and has no I/O.'),
    onlyImports('controller/src/operator/kube', ['api/core/src/runtime'], 'Kubernetes access knows no pools.'),
    {
      name: 'no I/O in pure code',
      severity: 'error',
      from: { path: '^controller/src/(operator/scale|worker/augmentation)/', pathNot: testCode },
      to: { dependencyTypes: ['core', 'npm'], pathNot: 'node_modules/croner/' },
    },
    {
      name: 'packages import each other by name',
      comment: 'Write @matte/core/… and not a relative path.',
      severity: 'error',
      from: { path: packages },
      to: { path: packages, pathNot: '^$1/', dependencyTypes: ['local'] },
    },
    {
      name: 'no test code in production',
      severity: 'error',
      from: { path: packages, pathNot: testCode },
      to: { path: testCode },
    },
    {
      name: 'no development dependency in production',
      severity: 'error',
      from: { path: packages, pathNot: [testCode, '^(docs/(generate|site)|test)/'] },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no unused file',
      comment: 'No program imports the file, directly or through others. Tests do not count.',
      severity: 'error',
      from: { path: programs },
      to: { path: `${packages}.*ts$`, pathNot: [testCode, ...programs], reachable: false },
    },
    edge('@aws-sdk/(client-s3|s3-request-presigner)', 'api/core/src/storage'),
    edge('@grpc/[^/]+', 'controller/src/worker/triton'),
    edge('@kubernetes/client-node', 'controller/src/operator/kube'),
    edge('@nats-io/[^/]+', 'api/core/src/bus'),
    edge('(@node-rs/argon2|jose|otpauth)', 'api/people/src/identity'),
    edge('fastify', 'api/src'),
    edge('kysely', 'api/core/src', 'api/people/src'),
    edge('nodemailer', 'dispatcher/src'),
    edge('pg', 'api/core/src/db', 'local/src'),
    edge('piscina', 'controller/src/worker/image', 'api/src/invoice'),
    edge('sharp', 'controller/src/worker/image', 'api/src/preview', 'local/src'),
    edge('stripe', 'api/people/src/payment'),
    edge('undici', 'api/core/src/storage', 'api/src', 'dispatcher/src'),
  ],
  options: {
    // dependency-cruiser cannot call TypeScript 7, so swc parses. Type imports count.
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    // The generated tree of routes and the routes import each other.
    exclude: { path: '^(clients/[a-z]+|api/console|docs/site)/dist/|^api/console/src/routeTree[.]gen' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.css'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node'],
    },
  },
}
