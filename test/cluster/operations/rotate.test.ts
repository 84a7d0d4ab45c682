// docs/operations/rotate.md, as written: old secrets are rejected, and the service keeps serving.
import { describe, expect, it } from 'vitest'
import { findMissing } from '../../chart/helm.ts'
import { useInstallation } from './installation.ts'

describe.skipIf(findMissing('cluster'))('the page about secrets', () => {
  const { kubectl, secret, makeTask, readTask, page } = useInstallation()
  const rotate = (section: string) => page('rotate.md')(section)

  /** Output of a script that runs in an API pod with an old secret. */
  const inPod = (script: string) =>
    kubectl('exec', 'deploy/matte-api', '-c', 'api', '--', 'node', '--input-type=module', '-e', script)
  /** The endpoint's status, and its secret if it has one. */
  const signingSecret = (apiKey: string) =>
    inPod(`const url = 'http://localhost:8080/api/v1/open/developer/signing-secret'
      const answer = await fetch(url, { headers: { 'x-api-key': '${apiKey}' } })
      console.log(answer.status, (await answer.json()).data?.signingSecret)`)

  it('password of the database', async () => {
    const made = await makeTask()
    const old = await secret('POSTGRES_PASSWORD')
    const login = (password: string) =>
      kubectl(
        'exec',
        'matte-postgresql-0',
        '--',
        'sh',
        '-c',
        `PGPASSWORD=${password} psql -h "$(hostname -i)" -U matte -Atc 'select 1' 2>&1 || true`,
      )
    expect(await login(old)).toContain('1')
    await rotate('Password of the database')
    expect(await login(old)).toContain('password authentication failed')
    expect(await login(await secret('POSTGRES_PASSWORD'))).toContain('1')
    expect(await readTask(made.taskId)).toEqual(made)
  })

  it('token of NATS', async () => {
    const old = await secret('NATS_URL')
    const connect = (url: string) =>
      inPod(`import net from 'node:net'
        const { username, hostname, port } = new URL('${url}')
        const socket = net.connect(Number(port), hostname)
        socket.write('CONNECT ' + JSON.stringify({ auth_token: username, verbose: false }) + '\\r\\nPING\\r\\n')
        let said = ''
        socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')))
        socket.on('data', (bytes) => {
          said += bytes
          if (!/PONG|-ERR/.test(said)) return
          console.log(said.slice(said.indexOf('}') + 1))
          process.exit()
        })`)
    expect(await connect(old)).toContain('PONG')
    await rotate('Token of NATS')
    expect(await connect(old)).toContain('Authorization Violation')
    expect(await connect(await secret('NATS_URL'))).toContain('PONG')
    expect(await makeTask()).toMatchObject({ status: 'succeeded' })
  })

  it('keys of the store', async () => {
    const made = await makeTask()
    const apiKey = await secret('MATTE_API_KEY')
    const link = (taskId: string) =>
      inPod(`const answer = await fetch('http://localhost:8080/api/v1/open/developer/tasks/${taskId}',
        { headers: { 'x-api-key': '${apiKey}' } }); console.log((await answer.json()).data.resultUrl)`)
    const before = (await link(made.taskId)).trim()
    const statusOf = (url: string) => inPod(`console.log((await fetch(${JSON.stringify(url)})).status)`)
    expect(await statusOf(before)).toBe('200\n')
    await rotate('Keys of the store')
    // Stores reject an unknown key with either status.
    expect(await statusOf(before)).toMatch(/^40[34]\n/)
    expect(await readTask(made.taskId)).toEqual(made)
    expect(await makeTask()).toMatchObject({ status: 'succeeded' })
  })

  it('master keys: the signing secret is unchanged and encrypted with the new key only', async () => {
    const key = await secret('MATTE_API_KEY')
    const before = await signingSecret(key)
    expect(before).toContain('whsec_')
    await rotate('Master keys')
    expect(await secret('MASTER_KEYS')).toMatch(/^k\d+:[^,]+$/)
    expect(await signingSecret(key)).toBe(before)
  })

  it('API key and signing secret', async () => {
    const old = await secret('MATTE_API_KEY')
    const before = await signingSecret(old)
    const open = page('rotate.md')
    await open('API keys')
    const fresh = await secret('MATTE_API_KEY')
    expect(fresh).not.toBe(old)
    await open('Signing secrets')
    expect(await signingSecret(fresh)).toMatch(/^200 .*whsec_/)
    expect(await signingSecret(fresh)).not.toBe(before)
    expect(await makeTask(fresh)).toMatchObject({ status: 'succeeded' })
    expect(await signingSecret(old)).toMatch(/^401 /)
  })
})
