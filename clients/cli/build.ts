// Builds dist/, the package as its registry takes it. It is bundled, so `npx matte-cli` fetches one package. The server
// for assistants is a separate chunk, which other commands do not load.
import { chmodSync, copyFileSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const here = fileURLToPath(new URL('.', import.meta.url))
const dist = `${here}dist`

type Manifest = { readonly name: string; readonly version: string; readonly license: string }

const readManifest = (dir: string): Manifest => JSON.parse(readFileSync(`${dir}/package.json`, 'utf8'))

/** Returns the folders of the packages in the bundle. */
async function bundle(): Promise<string[]> {
  const build = await rolldown({ input: { matte: `${here}src/main.ts` }, platform: 'node' })
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    minify: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  })
  await build.close()
  const ids = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
  return [...new Set(ids.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []))].sort()
}

/** Most licences require that their notice goes along. */
function writeNotices(dirs: readonly string[]): void {
  const notices = dirs
    .filter((dir) => existsSync(`${dir}/package.json`))
    .map((dir) => {
      const { name, version, license } = readManifest(dir)
      const files = globSync(['LICEN[CS]E*', 'licen[cs]e*'], { cwd: dir })
      const texts = files.map((file) => readFileSync(`${dir}/${file}`, 'utf8'))
      return `${name} ${version}, ${license}\n\n${texts.join('\n')}`
    })
  writeFileSync(`${dist}/third-party-notices.txt`, notices.join(`\n${'-'.repeat(80)}\n`))
}

function writeManifest(): void {
  const {
    dependencies: _bundled,
    devDependencies: _tests,
    ...common
  } = JSON.parse(readFileSync(`${here}package.json`, 'utf8'))
  const manifest = { ...common, bin: { matte: 'matte.js', 'matte-cli': 'matte.js' } }
  writeFileSync(`${dist}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`)
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE']) copyFileSync(`${here}${name}`, `${dist}/${name}`)
}

rmSync(dist, { recursive: true, force: true })
const dirs = await bundle()
writeNotices(dirs)
writeManifest()
for (const photo of ['doctor/sample.jpg', 'leave-removebg/check/check-photo.jpg']) {
  copyFileSync(`${here}src/${photo}`, `${dist}/${basename(photo)}`)
}
chmodSync(`${dist}/matte.js`, 0o755)
