// The unmodified clients of remove.bg from their registries where the name api.remove.bg leads to Matte, as behind an
// Ingress with split DNS.
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { givenCaller } from '@matte/test/api/given.ts'
import { type Fetcher, startFetcher } from '@matte/test/dispatcher/fetcher.ts'
import { type Receiver, startReceiver } from '@matte/test/dispatcher/receiver.ts'
import { createClient } from '@matte/test/support/client.ts'
import {
  installNpmClient,
  installPythonClient,
  type PythonClient,
} from '@matte/test/support/foreign-clients/install.ts'
import { type NamedNetwork, startNamedNetwork } from '@matte/test/support/foreign-clients/named-network.ts'
import { lemur } from '@matte/test/support/photos.ts'
import { useStack } from '@matte/test/support/stack.ts'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = useStack({
  env: { api: { UPLOADS_FETCH_URLS: 'true' } },
  processes: ['api', 'worker'],
})
const dir = mkdtempSync(join(tmpdir(), 'foreign-'))
const photoFile = join(dir, 'photo.png')
const key = generateApiKey()
const apiKey = key.key
let network: NamedNetwork
let receiver: Receiver
let fetcher: Fetcher
const photoUrl = 'http://images.example/lemur.png'
let npmFolder: string
let pythonClient: PythonClient

beforeAll(async () => {
  const { workspaceId } = stack
  await insertApiKey(stack.db, key, { workspaceId, name: 'door', scopes: ['tasks:write'], expiresAt: null })
  writeFileSync(photoFile, lemur())
  npmFolder = await installNpmClient()
  pythonClient = await installPythonClient()
  receiver = await startReceiver((response) => response.end(lemur()))
  fetcher = await startFetcher(stack.db, receiver)
  network = await startNamedNetwork(dir, 'api.remove.bg', stack.process('api').url)
}, 300_000)
afterAll(async () => {
  await network.stop()
  await fetcher.stop()
  await receiver.close()
})

const sizeOf = async (file: string) => {
  const { format, width, height, hasAlpha } = await sharp(readFileSync(file)).metadata()
  return { format, width, height, hasAlpha }
}

/** The photo as an option; an argument of a program may not be as long. */
const base64img = `require('fs').readFileSync('${photoFile}', 'base64')`

/** Calls a function of npm's package; returns its result or its errors. `code` are further options, as code. */
async function callNpm(name: string, options: Record<string, unknown>, code = '') {
  const script = `require('remove.bg').${name}({ ...${JSON.stringify({ apiKey, ...options })}, ${code} }).then(
    ({ base64img, ...rest }) => console.log(JSON.stringify({ bytes: base64img.length, ...rest })),
    (errors) => console.log(JSON.stringify({ errors })))`
  const printed = await network.run({ command: process.execPath, args: ['-e', script], cwd: npmFolder })
  return JSON.parse(printed) as Record<string, unknown>
}

/** Calls a method of PyPI's client in a folder that it may write to. */
const callPython = (method: string, args: string, withKey = apiKey): Promise<string> => {
  const script = `from removebg import RemoveBg; RemoveBg("${withKey}", "error.log").${method}(${args})`
  const { python, path } = pythonClient
  return network.run({ command: python, args: ['-c', script], cwd: dir, env: { PYTHONPATH: path } })
}

describe('npm remove.bg 1.3.0', () => {
  it('writes the cut-out of a file', async () => {
    const outputFile = join(dir, 'npm.png')
    const { width, height } = await sharp(photoFile).metadata()
    const result = await callNpm('removeBackgroundFromImageFile', { path: photoFile, size: 'full', outputFile })
    expect(result).toMatchObject({
      detectedType: 'other',
      resultWidth: String(width),
      resultHeight: String(height),
      rateLimit: expect.stringMatching(/^\d+$/),
      creditsCharged: '0',
    })
    expect(await sizeOf(outputFile)).toEqual({ format: 'png', width, height, hasAlpha: true })
  })

  it('gets all of fourteen cut-outs at once on the plan Pro, without repeating a request', async () => {
    const { url } = stack.process('api')
    const pro = await givenCaller(stack.db, { client: (key) => createClient(url, key) }, { credits: 20 })
    const options = JSON.stringify({ apiKey: pro.apiKey, path: photoFile, type: 'animal', semitransparency: false })
    const script = `Promise.all(Array.from({ length: 14 }, () => require('remove.bg').removeBackgroundFromImageFile(
      ${options}))).then((all) => console.log(JSON.stringify(all.map((one) => one.creditsCharged))),
      (errors) => console.log(JSON.stringify({ errors })))`
    const printed = await network.run({ command: process.execPath, args: ['-e', script], cwd: npmFolder })
    expect(JSON.parse(printed)).toEqual(Array(14).fill('1'))
  })

  it('writes the cut-out of base64 with a background colour', async () => {
    const outputFile = join(dir, 'npm.jpg')
    const options = { size: 'full', bg_color: 'red', outputFile }
    const result = await callNpm('removeBackgroundFromImageBase64', options, `base64img: ${base64img}`)
    expect(result).toMatchObject({ bytes: expect.any(Number) })
    expect(await sizeOf(outputFile)).toMatchObject({ format: 'jpeg', hasAlpha: false })
  })

  it('rejects with the errors of the service', async () => {
    const wrong = await callNpm('removeBackgroundFromImageBase64', { apiKey: 'wrong' }, `base64img: ${base64img}`)
    expect(wrong).toMatchObject({ errors: [{ code: 'auth_failed' }] })
    const url = await callNpm('removeBackgroundFromImageUrl', { url: 'http://10.0.0.1/cat.jpg' })
    expect(url).toMatchObject({ errors: [{ code: 'invalid_parameters' }] })
  })

  it('writes the cut-out of a URL', async () => {
    const outputFile = join(dir, 'npm-url.png')
    const { width, height } = await sharp(photoFile).metadata()
    await callNpm('removeBackgroundFromImageUrl', { url: photoUrl, size: 'full', outputFile })
    expect(await sizeOf(outputFile)).toEqual({ format: 'png', width, height, hasAlpha: true })
  })

  it('writes the cut-out over a background by URL', async () => {
    const outputFile = join(dir, 'npm-over.jpg')
    const options = { path: photoFile, size: 'full', bg_image_url: photoUrl, outputFile }
    await callNpm('removeBackgroundFromImageFile', options)
    const { width, height } = await sharp(photoFile).metadata()
    expect(await sizeOf(outputFile)).toEqual({ format: 'jpeg', width, height, hasAlpha: false })
  })
})

describe('PyPI removebg 0.4', () => {
  it('writes the cut-out of a file', async () => {
    const file = join(dir, 'python.png')
    copyFileSync(photoFile, file)
    await callPython('remove_background_from_img_file', `"${file}", size="full"`)
    const { width, height } = await sharp(photoFile).metadata()
    expect(await sizeOf(`${file}_no_bg.png`)).toEqual({ format: 'png', width, height, hasAlpha: true })
  })

  it('writes the cut-out of base64 with a background colour', async () => {
    writeFileSync(join(dir, 'photo.b64'), lemur().toString('base64'))
    await callPython('remove_background_from_base64_img', 'open("photo.b64").read(), size="full", bg_color="81d4fa"')
    expect(await sizeOf(join(dir, 'no-bg.png'))).toMatchObject({ format: 'jpeg', hasAlpha: false })
  })

  it('writes the cut-out of a URL', async () => {
    await callPython('remove_background_from_img_url', `"${photoUrl}", size="full", new_file_name="url.png"`)
    const { width, height } = await sharp(photoFile).metadata()
    expect(await sizeOf(join(dir, 'url.png'))).toEqual({ format: 'png', width, height, hasAlpha: true })
  })

  it('raises for a wrong key', async () => {
    const calling = callPython('remove_background_from_img_file', `"${photoFile}"`, 'wrong')
    await expect(calling).rejects.toThrow('403')
  })
})
