// The kit as a user of remove.bg has it: a check of the service, programs in seven languages that move, and the same
// programs unchanged behind `matte door`.
import { join } from 'node:path'
import { nodePath } from '@matte/local/servers/process'
import { installPythonClient } from '@matte/test/support/foreign-clients/install.ts'
import { expectations } from 'matte-cli/src/leave-removebg/check/expectations.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { isThere, languagesWith } from './languages.ts'
import { cli, expectCutOut, useDoorPlace } from './place.ts'

const { python, path } = await installPythonClient()
const languages = languagesWith(python, path)

describe('a program of remove.bg', () => {
  const place = useDoorPlace()

  for (const { name, file, run, env } of languages) {
    const there = isThere(name)

    it.skipIf(!there)(`runs after matte leave-removebg --write (${name})`, async () => {
      const dir = place.folder(file)
      const found = await place.run([nodePath, cli, 'leave-removebg', dir, '--url', place.url], dir)
      expect(found, found.stdout).toMatchObject({ code: 1, stdout: expect.stringContaining(`${file}:`) })
      const written = await place.run([nodePath, cli, 'leave-removebg', dir, '--url', place.url, '--write'], dir)
      expect(written.code, written.stdout + written.stderr).toBe(0)
      await expectCutOut(await place.run(run, dir, env), join(dir, 'no-bg.png'))
    })

    // Java takes neither a proxy nor an authority from the environment.
    if (name === 'Java') continue
    it.skipIf(!there)(`runs unchanged behind matte door (${name})`, async () => {
      const dir = place.folder(file)
      await expectCutOut(await place.behindDoor(run, dir, env), join(dir, 'no-bg.png'))
    })
  }

  it.skipIf(!isThere('Java'))('runs unchanged behind matte door with its own options (Java)', async () => {
    const dir = place.folder('Cut.java')
    const start = `keytool -importcert -noprompt -alias door -file "$MATTE_DOOR_CA" -keystore door.p12 -storepass changeit
      address=\${HTTPS_PROXY#http://}
      java -Dhttps.proxyHost="\${address%:*}" -Dhttps.proxyPort="\${address#*:}" -Djavax.net.ssl.trustStore=door.p12 \\
        -Djavax.net.ssl.trustStorePassword=changeit Cut.java`
    await expectCutOut(await place.behindDoor(['sh', '-c', start], dir), join(dir, 'no-bg.png'))
  })
})

describe('matte leave-removebg --check', () => {
  const place = useDoorPlace()
  const rows = new Map<string, { readonly passed: boolean; readonly problems: readonly string[] }>()

  beforeAll(async () => {
    const env = { MATTE_API_KEY: place.apiKey }
    const { stdout, stderr } = await place.run(
      [nodePath, cli, 'leave-removebg', '--json', '--check', place.url],
      place.folder(),
      env,
    )
    for (const line of stdout.trim().split('\n')) {
      const { check, ...row } = JSON.parse(line)
      rows.set(check, row)
    }
    expect(stderr).not.toContain(place.apiKey)
  })

  it.each(expectations.map(({ name }) => name))('passes: %s', (name) => {
    expect(rows.get(name)).toMatchObject({ passed: true, problems: [] })
  })
})
