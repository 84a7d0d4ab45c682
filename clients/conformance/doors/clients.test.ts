// The clients of remove.bg, unmodified from their registries and by each other way of docs/leaving-remove-bg.md:
// behind `matte door`, by an option of the client, and as a copy that a package manager patches.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { installNpmClient, installPythonClient } from '@matte/test/support/foreign-clients/install.ts'
import { lemur } from '@matte/test/support/photos.ts'
import { reportSkip } from '@matte/test/support/report/skips.ts'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { goEnv, isThere } from './languages.ts'
import { cli, expectCutOut, useDoorPlace } from './place.ts'

const npmFolder = await installNpmClient()
const { python, path: pythonPath } = await installPythonClient()
const goPackages = join(import.meta.dirname, 'go-packages')

const place = useDoorPlace()

/** The block of the page that has the words, for this service. */
function blockOf(language: string, words: string): string {
  const page = readFileSync(join(rootDir, 'docs/leaving-remove-bg.md'), 'utf8')
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, fence, text = '']) => ({ fence, text }))
  const [block, ...more] = blocks.filter(({ fence, text }) => fence === language && text.includes(words))
  if (block === undefined || more.length > 0) throw new Error(`the page has ${more.length} more blocks with ${words}`)
  const { protocol, host } = new URL(place.url)
  return block.text
    .replaceAll('https://matte.example.com', place.url)
    .replaceAll('"https", "matte.example.com"', `"${protocol.slice(0, -1)}", "${host}"`)
    .replaceAll('matte.example.com', host)
}

describe('npm remove.bg 1.3.0', () => {
  /** `options` are those of the call, as code; the result or the errors are printed. */
  const callNpm = (name: string, options: string): string => `
    const fs = require('node:fs')
    require('remove.bg').${name}({ apiKey: process.env.REMOVE_BG_API_KEY, ...${options} }).then(
      ({ base64img, ...rest }) => console.log(JSON.stringify({ bytes: base64img.length, ...rest })),
      (errors) => console.log(JSON.stringify({ errors })))`
  const env = { NODE_PATH: join(npmFolder, 'node_modules') }
  const behindDoor = (name: string, options: string, dir: string) =>
    place.behindDoor([nodePath, '-e', callNpm(name, options)], dir, env)

  it('writes the cut-out of a file behind matte door', async () => {
    const dir = place.folder()
    const options = "{ path: 'photo.png', size: 'full', outputFile: 'no-bg.png' }"
    const ended = await behindDoor('removeBackgroundFromImageFile', options, dir)
    await expectCutOut(ended, join(dir, 'no-bg.png'))
    const { width, height } = await sharp(lemur()).metadata()
    expect(JSON.parse(ended.stdout)).toMatchObject({
      detectedType: expect.any(String),
      resultWidth: String(width),
      resultHeight: String(height),
      creditsCharged: '1',
      rateLimit: expect.stringMatching(/^\d+$/),
    })
  })

  it('writes the cut-out of base64 with a colour behind matte door', async () => {
    const dir = place.folder()
    const options = "{ base64img: fs.readFileSync('photo.png', 'base64'), bg_color: 'red', outputFile: 'red.jpg' }"
    expect(await behindDoor('removeBackgroundFromImageBase64', options, dir)).toMatchObject({ code: 0 })
    expect(await sharp(readFileSync(join(dir, 'red.jpg'))).metadata()).toMatchObject({
      format: 'jpeg',
      hasAlpha: false,
    })
  })

  it('rejects with the errors of the service behind matte door', async () => {
    const options = "{ apiKey: 'wrong', path: 'photo.png' }"
    const { stdout } = await behindDoor('removeBackgroundFromImageFile', options, place.folder())
    expect(JSON.parse(stdout)).toMatchObject({ errors: [{ code: 'auth_failed' }] })
  })

  it('calls Matte from a copy that patch-package patches at each installation', { timeout: 600_000 }, async () => {
    const dir = place.folder()
    const flags = '--no-audit --no-fund --loglevel=error'
    const install = `set -e
      echo '{ "private": true }' > package.json
      npm install ${flags} remove.bg@1.3.0
      ${blockOf('sh', 'patch-package remove.bg')}
      rm -r node_modules
      npm install ${flags}`
    const installed = await place.run(['bash', '-c', install], dir, registryEnv())
    expect(installed.code, installed.stdout + installed.stderr).toBe(0)
    const options = "{ path: 'photo.png', size: 'full', outputFile: 'no-bg.png' }"
    const call = callNpm('removeBackgroundFromImageFile', options)
    await expectCutOut(await place.run([nodePath, '-e', call], dir), join(dir, 'no-bg.png'))
  })
})

describe('PyPI removebg 0.4', () => {
  const call = 'RemoveBg(os.environ["REMOVE_BG_API_KEY"], "error.log").remove_background_from_img_file'
  const program = `import os\nfrom removebg import RemoveBg\n${call}("photo.png", size="full")\n`
  const env = { PYTHONPATH: pythonPath }

  it('writes the cut-out of a file behind matte door', async () => {
    const dir = place.folder()
    await expectCutOut(await place.behindDoor([python, '-c', program], dir, env), join(dir, 'photo.png_no_bg.png'))
  })

  it('raises for a wrong key behind matte door', async () => {
    const wrong = program.replace('os.environ["REMOVE_BG_API_KEY"]', '"wrong"')
    const { code, stderr } = await place.behindDoor([python, '-c', wrong], place.folder(), env)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('403') })
  })

  it('calls Matte after its endpoint is set', async () => {
    const dir = place.folder()
    await expectCutOut(
      await place.run([python, '-c', blockOf('python', 'API_ENDPOINT') + program], dir, env),
      join(dir, 'photo.png_no_bg.png'),
    )
  })

  it('calls Matte from a patched copy that a pip constraint chooses', { timeout: 600_000 }, async () => {
    const dir = place.folder()
    const install = `set -e
      '${python}' -m venv .venv
      . .venv/bin/activate
      ${blockOf('sh', 'pip wheel')}`
    const installed = await place.run(['bash', '-c', install], dir, registryEnv())
    expect(installed.code, installed.stdout + installed.stderr).toBe(0)
    const ended = await place.run([join(dir, '.venv/bin/python'), '-c', program], dir)
    await expectCutOut(ended, join(dir, 'photo.png_no_bg.png'))
  })
})

describe('packages of the official Go program 1.3.1', async () => {
  const reason = isThere('Go') ? await whyNoGoPackages() : 'go is not installed'
  if (reason !== undefined) reportSkip({ matching: 'official Go program', reason })

  it.skipIf(reason !== undefined)('fetch a ZIP and make a PNG of it behind matte door', async () => {
    const dir = goFolder()
    const built = await place.run(['go', 'build', '-o', 'cut', '.'], dir, goEnv)
    expect(built.code, built.stderr).toBe(0)
    await expectCutOut(await place.behindDoor(['./cut'], dir), join(dir, 'no-bg.png'))
  })

  it.skipIf(reason !== undefined)('call Matte by the transport of their client', async () => {
    const dir = goFolder()
    const main = readFileSync(join(dir, 'main.go'), 'utf8')
    const withTransport = main
      .replace(
        'client.Client{Version: "test"}',
        'client.Client{Version: "test", HTTPClient: http.Client{Transport: toMatte{}}}',
      )
      .replace('\t"os"\n', '\t"net/http"\n\t"os"\n')
    writeFileSync(join(dir, 'main.go'), withTransport)
    writeFileSync(join(dir, 'transport.go'), `package main\n\nimport "net/http"\n\n${blockOf('go', 'RoundTrip')}`)
    const built = await place.run(['go', 'build', '-o', 'cut', '.'], dir, goEnv)
    expect(built.code, built.stderr).toBe(0)
    await expectCutOut(await place.run(['./cut'], dir), join(dir, 'no-bg.png'))
  })

  /** Programs write to their folder, which is their home too. */
  function goFolder(): string {
    const dir = place.folder()
    for (const name of ['go.mod', 'go.sum', 'main.go']) copyFileSync(join(goPackages, name), join(dir, name))
    return dir
  }

  /** Undefined: the module proxy has them. */
  async function whyNoGoPackages(): Promise<string | undefined> {
    const { code, stderr } = await place.run(['go', 'mod', 'download'], goFolder(), goEnv)
    return code === 0 ? undefined : `the module proxy refuses them: ${stderr.split('\n', 1)[0]}`
  }
})

describe('the loop of the page', () => {
  it('sends each photo to both services, and writes pairs', async () => {
    const dir = place.folder()
    mkdirSync(join(dir, 'photos'))
    for (const name of ['a.png', 'b.png']) copyFileSync(join(dir, 'photo.png'), join(dir, 'photos', name))
    const env = { MATTE_URL: place.url, MATTE_API_KEY: place.apiKey }
    const { code, stderr } = await place.behindDoor(['sh', '-ec', blockOf('sh', 'for photo in')], dir, env)
    expect(code, stderr).toBe(0)
    for (const file of ['remove-bg/a.png', 'remove-bg/b.png', 'matte/a.png', 'matte/b.png']) {
      expect(await sharp(readFileSync(join(dir, file))).metadata()).toMatchObject({ format: 'png', hasAlpha: true })
    }
  })
})

describe('/etc/hosts', () => {
  const asRoot = process.getuid?.() === 0
  if (!asRoot) reportSkip({ matching: '/etc/hosts', reason: 'only root may listen on port 443' })

  it.skipIf(!asRoot)('leads a program without any proxy to matte door on port 443', async () => {
    const dir = place.folder()
    const address = `127.${octet()}.${octet()}.${octet()}`
    writeFileSync(join(dir, 'hosts'), `127.0.0.1 localhost\n${address} api.remove.bg\n`)
    const call =
      'curl --noproxy "*" -sS --fail -H "X-Api-Key: $REMOVE_BG_API_KEY" -F image_file=@photo.png -F size=full'
    const start = `mount --bind hosts /etc/hosts && exec "$0" "$@"`
    const door = [nodePath, cli, 'door', '--url', place.url, '--listen', `${address}:443`, '--']
    const program = ['sh', '-c', `${call} -o no-bg.png https://api.remove.bg/v1.0/removebg`]
    const inside = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', start, ...door, ...program]
    await expectCutOut(await place.run(inside, dir), join(dir, 'no-bg.png'))
  })

  const octet = (): number => 1 + Math.floor(Math.random() * 250)
})

/** Settings of this machine's registries, which programs of a test do not get otherwise. */
const registryEnv = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      /^(npm_config_|PIP_|HTTPS?_PROXY|NO_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)/i.test(name) &&
      value !== undefined
        ? [[name, value]]
        : [],
    ),
  )
