// Snippets of docs/webhooks.md in languages that start quickly, against signatures of the dispatcher's own code.
import { delimiter, join } from 'node:path'
import { installPackages } from '@matte/local/install/python-packages'
import { rootDir } from '@matte/local/paths'
import { describe } from 'vitest'
import { testLanguage } from './webhooks-page.ts'

const importClient = "import * as client from 'matte-client';"
const httpx = await installPackages(
  {
    name: 'python-client',
    requirements: join(rootDir, 'clients/conformance/requirements.txt'),
    saying: 'fetching httpx for the Python client (1 MB)',
  },
  (line) => void process.stdout.write(`[python] ${line}\n`),
)
const pythonPath = [join(rootDir, 'clients/python/src'), httpx.dir].join(delimiter)

describe('the receiver of docs/webhooks.md', () => {
  testLanguage('in Node', {
    fence: 'js',
    snippet: { file: 'snippet.mjs' },
    files: {
      'main.mjs': `
import { buffer } from 'node:stream/consumers'
const [header, secret] = process.argv.slice(2)
process.env.WEBHOOK_SECRET = secret
const { readEvent } = await import('./snippet.mjs')
const headers = header === '' ? {} : { 'x-service-signature': header }
const event = await readEvent(await buffer(process.stdin), headers).catch((error) => {
  if (error.code !== 'CLIENT_SIGNATURE') throw error
})
console.log(event?.event === 'task.succeeded' ? 'genuine' : 'forged')
`,
    },
    run: [process.execPath, 'main.mjs'],
    probe: [process.execPath, '--input-type=module', '-e', `${importClient} process.exit('Matte' in client ? 0 : 1)`],
  })

  testLanguage('in Python', {
    fence: 'python',
    snippet: { file: 'snippet.py' },
    files: {
      'main.py': `
import os
import sys
import matte
from snippet import read_event
header, os.environ["WEBHOOK_SECRET"] = sys.argv[1:]
try:
    event = read_event(sys.stdin.buffer.read(), {"X-Service-Signature": header} if header else {})
    print("genuine" if event["event"] == "task.succeeded" else "forged")
except matte.SignatureError:
    print("forged")
`,
    },
    run: [httpx.command, 'main.py'],
    env: { PYTHONPATH: pythonPath },
    probe: [httpx.command, '--version'],
  })

  testLanguage('in Ruby', {
    fence: 'ruby',
    snippet: { file: 'snippet.rb' },
    files: {
      'main.rb': `
require_relative 'snippet'
header, secret = ARGV
puts genuine?(header, $stdin.binmode.read, secret) ? 'genuine' : 'forged'
`,
    },
    run: ['ruby', 'main.rb'],
    probe: ['ruby', '--version'],
  })

  testLanguage('in PHP', {
    fence: 'php',
    snippet: { file: 'snippet.php', before: '<?php\n' },
    files: {
      'main.php': `<?php
require __DIR__ . '/snippet.php';
echo is_genuine($argv[1], file_get_contents('php://stdin'), $argv[2]) ? 'genuine' : 'forged';
`,
    },
    run: ['php', 'main.php'],
    probe: ['php', '--version'],
  })
})
