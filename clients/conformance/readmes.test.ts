// The first program of each client's README, as written, from an empty folder with nothing but the package. Deno and
// Bun run the TypeScript program too. A worker has no files, so its program is part of this test.
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '@matte/local/install/run-command'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { freePorts } from '@matte/test/support/free-ports.ts'
import { until } from '@matte/test/support/until.ts'
import { rolldown } from 'rolldown'
import sharp from 'sharp'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { installHttpx } from './support/driver.ts'
import { writeInputs } from './support/inputs.ts'
import { runProgram, startProgram } from './support/program.ts'
import { findRuntime } from './support/runtimes.ts'
import { useService } from './support/service.ts'

const clients = join(rootDir, 'clients')
const runtimes = [
  ['Node', nodePath, []],
  ['Deno', await findRuntime('Deno'), ['run', '--allow-all', '--no-prompt']],
  ['Bun', await findRuntime('Bun'), ['run']],
] as const
const workerd = await findRuntime('workerd')

// The tools that build the wheel are fetched once, which can take minutes.
describe('the first program of the README, from an empty folder,', { timeout: 600_000 }, () => {
  const service = useService()
  let inputs: string
  beforeAll(async () => {
    inputs = join(inject('runDir'), 'readme-inputs')
    await writeInputs(inputs)
  })

  async function given(name: string) {
    const workspace = await service.createWorkspace()
    const dir = mkdtempSync(join(inject('runDir'), `readme-${name}-`))
    const env = { MATTE_API_KEY: workspace.apiKey, MATTE_BASE_URL: `${service.origin}/api/v1` }
    return { workspace, dir, env }
  }

  /** Puts photos where the program reads them, runs it, and looks at the one file that it wrote. */
  async function expectCutOut(
    { dir, workspace }: Awaited<ReturnType<typeof given>>,
    source: string,
    run: () => unknown,
  ) {
    for (const [, name = ''] of source.matchAll(/['"]([\w-]+\.(?:jpe?g|png|webp))['"]/g)) {
      copyFileSync(join(inputs, name.endsWith('png') ? 'photo.png' : 'photo.jpg'), join(dir, name))
    }
    const before = new Map(readdirSync(dir).map((name) => [name, readIfFile(join(dir, name))]))
    await run()
    const changed = readdirSync(dir).filter((name) => isImage(name) && before.get(name) !== readIfFile(join(dir, name)))
    expect(changed).toHaveLength(1)
    const { width, height } = await sharp(join(dir, changed[0] ?? '')).metadata()
    expect({ width, height }).toEqual({ width: 320, height: 320 })
    expect(await service.settle(workspace.id)).toMatchObject({ tasks: 1, succeeded: 1, spent: 1 })
  }

  for (const [runtime, path, flags] of runtimes) {
    it.skipIf(path === undefined)(
      `cuts out a photo with the TypeScript client as npm installs it: ${runtime}`,
      async () => {
        const place = await given('typescript')
        const { dir, env } = place
        await installTypeScript(dir)
        const source = firstBlock('typescript', /^```(?:ts|typescript|js)\n(.*?)^```$/ms)
        writeFileSync(join(dir, 'cut.mjs'), source)
        await expectCutOut(place, source, () => runProgram(path ?? '', [...flags, 'cut.mjs'], { cwd: dir, env }))
      },
    )
  }

  it.skipIf(workerd === undefined)('cuts out a photo in a worker (workerd)', async () => {
    const { dir, env, workspace } = await given('worker')
    await installTypeScript(dir)
    await bundleWorker(dir)
    const [port = 0] = await freePorts(1)
    writeFileSync(join(dir, 'worker.capnp'), workerConfig(port, env))
    const worker = startProgram(workerd ?? '', ['serve', 'worker.capnp'], { cwd: dir })
    try {
      const body = readFileSync(join(inputs, 'photo.jpg'))
      const response = await until('the worker answers', () =>
        fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body }).catch(() => undefined),
      )
      const cutOut = Buffer.from(await response.arrayBuffer())
      expect(response.status, String(cutOut)).toBe(200)
      expect(await sharp(cutOut).metadata()).toMatchObject({ format: 'webp', width: 320, height: 320 })
    } finally {
      await worker.kill()
    }
    expect(await service.settle(workspace.id)).toMatchObject({ tasks: 1, succeeded: 1, spent: 1 })
  })

  it('cuts out a photo with the Python client as pip would install it', async () => {
    const place = await given('python')
    const { dir, env } = place
    const { python, path } = await installWheel(dir)
    const source = firstBlock('python', /^```(?:py|python)\n(.*?)^```$/ms)
    writeFileSync(join(dir, 'first.py'), source)
    await expectCutOut(place, source, () =>
      runProgram(python, ['first.py'], { cwd: dir, env: { ...env, PYTHONPATH: path } }),
    )
  })
})

function firstBlock(client: string, pattern: RegExp): string {
  const block = pattern.exec(readFileSync(join(clients, client, 'README.md'), 'utf8'))?.[1]
  if (block === undefined) throw new Error(`clients/${client}/README.md has no program`)
  const lines = block.split('\n').filter((line) => line.trim() !== '' && !/^\s*(\/\/|#)/.test(line))
  expect(lines.length, 'the README says five lines').toBeLessThanOrEqual(5)
  return block
}

async function installTypeScript(dir: string): Promise<void> {
  const tarball = await packTypeScript(dir)
  await runProgram('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', tarball], {
    cwd: dir,
  })
}

/** Bundles a worker with the installed package, as tools for workers do. */
async function bundleWorker(dir: string): Promise<void> {
  const source = `
    import { Matte } from 'matte-client'
    export default {
      async fetch(request, env) {
        const matte = new Matte({ apiKey: env.MATTE_API_KEY, baseUrl: env.MATTE_BASE_URL })
        const cutout = await matte.removeBackground(await request.arrayBuffer(), { format: 'webp' })
        return new Response(cutout.stream(), { headers: { 'content-type': cutout.contentType } })
      },
    }`
  writeFileSync(join(dir, 'worker.js'), source)
  const build = await rolldown({ input: join(dir, 'worker.js'), cwd: dir, platform: 'neutral' })
  await build.write({ file: join(dir, 'bundle.js'), format: 'esm', codeSplitting: false })
  await build.close()
}

function workerConfig(port: number, env: Readonly<Record<string, string>>): string {
  const bindings = Object.entries(env).map(([name, value]) => `(name = "${name}", text = "${value}")`)
  return `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["public", "private"]))],
      sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
    );
    const worker :Workerd.Worker = (
      modules = [(name = "bundle.js", esModule = embed "bundle.js")],
      compatibilityDate = "2026-01-01",
      bindings = [${bindings.join(', ')}]
    );`
}

/** Builds the package as its registry takes it, and packs it. */
async function packTypeScript(dir: string): Promise<string> {
  const packed = join(dir, '.packed')
  mkdirSync(packed)
  await runCommand(nodePath, ['clients/typescript/build.ts'], { cwd: rootDir })
  const args = ['pack', join(clients, 'typescript/dist'), '--pack-destination', packed, '--loglevel=error']
  await runProgram('npm', args, { cwd: packed })
  const [name = ''] = globSync('*.tgz', { cwd: packed })
  return join(packed, name)
}

/** Builds the wheel, and installs it alone into a new virtual environment; httpx comes from the path. */
async function installWheel(dir: string): Promise<{ python: string; path: string }> {
  const { command, dir: path } = await installHttpx()
  await runCommand(nodePath, ['clients/python/check.ts', 'build'], { cwd: rootDir })
  const [wheel = ''] = globSync('*.whl', { cwd: join(clients, 'python/dist') })
  const environment = join(dir, '.venv')
  await runProgram(command, ['-m', 'venv', environment], { cwd: dir })
  const python = join(environment, 'bin/python')
  const install = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', '--no-deps', '--no-index']
  await runProgram(python, [...install, join(clients, 'python/dist', wheel)], { cwd: dir })
  return { python, path }
}

const isImage = (name: string): boolean => /\.(png|jpe?g|webp)$/.test(name)

function readIfFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'base64')
  } catch {
    return undefined
  }
}
