// Builds dist/, the package as npm takes it: bundled modules, types, and another package.json. Inside this repository
// the sources run unbuilt.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const here = fileURLToPath(new URL('.', import.meta.url))
const dist = `${here}dist`

/** `#files` stays an import: the package's own `imports` choose between files and none. */
async function bundle(): Promise<void> {
  const build = await rolldown({
    input: {
      index: `${here}src/index.ts`,
      app: `${here}src/app/index.ts`,
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

/** Declarations keep the extension .ts of their imports; other projects know them as .js. */
function writeTypes(): void {
  const types = `${dist}/types`
  const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--rootDir', `${here}src`]
  execFileSync('tsc', ['-p', `${here}tsconfig.json`, ...options, '--outDir', types], { stdio: 'inherit' })
  for (const name of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue
    const text = readFileSync(`${types}/${name}`, 'utf8')
    writeFileSync(`${types}/${name}`, text.replace(/((?:from |import\()(['"])\.[^'"]+)\.ts\2/g, '$1.js$2'))
  }
}

function writeManifest(): void {
  const {
    exports: _exports,
    imports: _imports,
    devDependencies: _tests,
    ...common
  } = JSON.parse(readFileSync(`${here}package.json`, 'utf8'))
  const manifest = {
    ...common,
    exports: {
      '.': { types: './types/index.d.ts', default: './index.js' },
      './app': { types: './types/app/index.d.ts', default: './app.js' },
    },
    imports: { '#files': { node: './files-node.js', default: './files-none.js' } },
  }
  writeFileSync(`${dist}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`)
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE']) copyFileSync(`${here}${name}`, `${dist}/${name}`)
}

rmSync(dist, { recursive: true, force: true })
await bundle()
writeTypes()
writeManifest()
