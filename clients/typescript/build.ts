// Builds dist/, the package as its registry takes it: bundled modules, types, and a package.json of its own. Inside this
// repository the sources run as they are.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const here = fileURLToPath(new URL('.', import.meta.url))
const dist = `${here}dist`

/** `#files` stays an import: the package's own `imports` choose between files and none. */
async function bundle(): Promise<void> {
  const build = await rolldown({
    input: {
      index: `${here}src/index.ts`,
      'files-node': `${here}src/files/node.ts`,
      'files-none': `${here}src/files/none.ts`,
    },
    external: [/^node:/, '#files'],
    platform: 'neutral',
  })
  await build.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
  })
  await build.close()
}

function writeTypes(): void {
  const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', `${dist}/types`]
  const rewrite = ['--rewriteRelativeImportExtensions', '--rootDir', `${here}src`]
  execFileSync('tsc', ['-p', `${here}tsconfig.json`, ...options, ...rewrite], { stdio: 'inherit' })
}

function writeManifest(): void {
  const { exports: _exports, imports: _imports, ...common } = JSON.parse(readFileSync(`${here}package.json`, 'utf8'))
  const manifest = {
    ...common,
    exports: { '.': { types: './types/index.d.ts', default: './index.js' } },
    imports: { '#files': { node: './files-node.js', default: './files-none.js' } },
  }
  writeFileSync(`${dist}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`)
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE']) copyFileSync(`${here}${name}`, `${dist}/${name}`)
}

rmSync(dist, { recursive: true, force: true })
await bundle()
writeTypes()
writeManifest()
