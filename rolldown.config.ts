// Bundles the programs of the container image, which elsewhere run from their sources (A10). Loading a few files
// instead of a thousand saves a third of the memory, and a process starts in less than a second. Native code, threads,
// scripts and definitions stay separate files.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { defineConfig, type Plugin } from 'rolldown'

const outDir = process.env.BUNDLE_DIR ?? 'dist'

const consoleDist = 'api/console/dist'

/** Packages with native code, or that read files beside their own. */
const apart = ['sharp', 'piscina', '@node-rs/argon2']

/** Names of the packages in the scripts of the documentation, which is built before. */
const docsPackages = join(outDir, 'docs/site/dist/.packages')

/** Fonts of invoices: two of the eighteen in the package. */
const fontPackage = '@expo-google-fonts/noto-sans'
const fontFiles = ['400Regular/NotoSans_400Regular.ttf', '700Bold/NotoSans_700Bold.ttf', 'LICENSE_FONT', 'package.json']

/** Sources name the files of threads with `.ts`. */
const threadFiles: Plugin = {
  name: 'thread-files',
  transform: (code) =>
    code
      .replace("new URL('./cut-out-worker.ts'", "new URL('./cut-out-worker.js'")
      .replace("new URL('./pdf-worker.ts'", "new URL('./pdf-worker.js'"),
}

/** V8 stores a source with a character beyond Latin-1 in two bytes per character: 4 MB more in each process. */
const oneByteSources: Plugin = {
  name: 'one-byte-sources',
  generateBundle(_options, bundle) {
    for (const part of Object.values(bundle)) {
      if (part.type === 'chunk') part.code = part.code.replace(/[^\0-\xff]/g, escapeUnit)
    }
  },
}

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const filesBeside: Plugin = {
  name: 'files-beside',
  writeBundle() {
    for (const name of withDependencies(apart)) copyInto(`node_modules/${name}`)
    for (const file of fontFiles) copyInto(`node_modules/${fontPackage}/${file}`)
    copyInto('protos', 'node_modules/@matte/protos')
    const scripts = 'controller/src/operator/specs'
    for (const file of readdirSync(scripts).filter((name) => name.endsWith('.sh'))) copyInto(join(scripts, file), file)
    copyInto('test/fixtures/photos/rocket.jpg', 'try.jpg')
    copyInto('clients/cli/src/doctor/sample.jpg', 'sample.jpg')
    copyInto('clients/cli/src/leave-removebg/check/check-photo.jpg', 'check-photo.jpg')
    if (existsSync(consoleDist)) copyInto(consoleDist, 'console')
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const manifest = { name: 'matte', version, private: true, type: 'module' }
    writeFileSync(join(outDir, 'package.json'), JSON.stringify(manifest))
  },
}

/** Licences from licence files, for packages whose manifest names none. */
const statedLicences = JSON.parse(readFileSync('charts/image/npm-licences.json', 'utf8'))

/** Third-party code copied into our sources, with its licence. */
const copied = [
  {
    name: '@zxcvbn-ts/language-common',
    version: '4.1.3',
    licence: 'MIT',
    notice: readFileSync('api/people/src/identity/password/LICENSE.txt', 'utf8'),
  },
]

/**
 * Writes `packages.json`, the npm packages in the image, for `charts/image/write-sbom.ts`; and
 * `third-party-notices.txt`, because bundles lose the notices that most licences require.
 */
const inventory: Plugin = {
  name: 'inventory',
  generateBundle(_options, bundle) {
    const bundled = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
    const inDocs = existsSync(docsPackages) ? readFileSync(docsPackages, 'utf8').split('\n') : []
    const dirs = new Set([...withDependencies(apart), fontPackage, ...inDocs].map((name) => `node_modules/${name}`))
    for (const id of bundled) {
      // A workspace may have another version of a package in its node_modules folder.
      const dir = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(relative('.', id))?.[0]
      if (dir !== undefined) dirs.add(dir)
    }
    const packages = [...dirs].sort().flatMap((dir) => {
      const manifest = `${dir}/package.json`
      if (!existsSync(manifest)) return []
      const { name, version, license: licence = statedLicences[name] } = JSON.parse(readFileSync(manifest, 'utf8'))
      return [{ name, version, licence, notice: readNotice(dir) }]
    })
    const all = [...packages, ...readConsolePackages(packages), ...copied]
    const listed = all.map(({ notice: _notice, ...one }) => one)
    this.emitFile({ type: 'asset', fileName: 'packages.json', source: JSON.stringify(listed) })
    const notices = all.map(({ name, version, licence, notice }) => `${name} ${version}, ${licence}\n\n${notice}`)
    const source = notices.join(`\n${'-'.repeat(80)}\n`)
    this.emitFile({ type: 'asset', fileName: 'third-party-notices.txt', source })
  },
}

type Package = { readonly name: string; readonly version: string; readonly licence: string; readonly notice: string }

/** Packages in the bundle of the console that no program has. */
function readConsolePackages(known: readonly { readonly name: string; readonly version: string }[]): Package[] {
  const file = `${consoleDist}/.vite/packages.json`
  if (!existsSync(file)) return []
  type Listed = { readonly name: string; readonly version: string; readonly identifier: string; readonly text?: string }
  const listed: Listed[] = JSON.parse(readFileSync(file, 'utf8'))
  return listed
    .filter(({ name, version }) => !known.some((one) => one.name === name && one.version === version))
    .filter(({ name }) => name !== 'matte-client')
    .map(({ name, version, identifier, text = '' }) => ({ name, version, licence: identifier, notice: text }))
}

/** Contents of a package's licence files. */
function readNotice(dir: string): string {
  const files = readdirSync(dir, { withFileTypes: true }).filter((one) => one.isFile())
  const notices = files.filter((one) => /^(licen[cs]e|copying|notice)/i.test(one.name))
  return notices.map((one) => readFileSync(join(dir, one.name), 'utf8')).join('\n')
}

/** These packages and their dependencies that are installed for this platform. */
function withDependencies(names: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting = [...names]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const manifest = `node_modules/${name}/package.json`
    if (found.has(name) || !existsSync(manifest)) continue
    found.add(name)
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'))
    waiting.push(...Object.keys({ ...dependencies, ...optionalDependencies }))
  }
  return found
}

function copyInto(from: string, to = from): void {
  const target = join(outDir, to)
  mkdirSync(join(target, '..'), { recursive: true })
  cpSync(from, target, { recursive: true, filter: (path) => !path.endsWith('.map') })
}

export default defineConfig({
  input: {
    api: 'api/src/main.ts',
    controller: 'controller/src/main.ts',
    dispatcher: 'dispatcher/src/main.ts',
    admin: 'api/src/admin/main.ts',
    setup: 'controller/src/setup/main.ts',
    try: 'api/src/smoke-test/main.ts',
    cli: 'clients/cli/src/main.ts',
    'cut-out-worker': 'controller/src/worker/image/cut-out-worker.ts',
    'pdf-worker': 'api/src/invoice/pdf-worker.ts',
  },
  platform: 'node',
  external: [...apart.map((name) => new RegExp(`^${name}($|/)`)), 'pg-native'],
  plugins: [threadFiles, oneByteSources, filesBeside, inventory],
  output: { dir: outDir, format: 'esm', minify: true, entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
})
