import { describe, expect, it } from 'vitest'
import { applyUses, findUses } from './find-uses.ts'

const serviceUrl = 'https://matte.example.com'
const find = (file: string, text: string, url: string | undefined = serviceUrl) =>
  findUses(text, { file, serviceUrl: url }).map(({ line, kind, found }) => [line, kind, found])
const change = (file: string, text: string, url = serviceUrl) =>
  applyUses(text, findUses(text, { file, serviceUrl: url }))

describe('findUses', () => {
  it.each([
    ['a.sh', 'curl https://api.remove.bg/v1.0/removebg', [[1, 'endpoint', 'https://api.remove.bg']]],
    ['a.js', "\n\nconst url = 'http://api.remove.bg:443'", [[3, 'endpoint', 'http://api.remove.bg:443']]],
    ['a.json', '{"u": "https:\\/\\/api.remove.bg\\/v1.0"}', [[1, 'endpoint', 'https:\\/\\/api.remove.bg']]],
    ['a.conf', 'proxy_set_header Host api.remove.bg;', [[1, 'host', 'api.remove.bg']]],
    ['a.md', 'See https://www.remove.bg/api#docs.', [[1, 'link', 'https://www.remove.bg/api#docs.']]],
    ['package.json', '{"dependencies": {"remove.bg": "^1.3.0"}}', [[1, 'package', 'remove.bg']]],
    ['web/package.json', '{"d": {"@acme/remove-bg-kit": "1"}}', [[1, 'package', '@acme/remove-bg-kit']]],
    ['requirements.txt', 'flask\nremovebg==0.4\n', [[2, 'package', 'removebg']]],
    ['pyproject.toml', 'dependencies = ["removebg>=0.4"]', [[1, 'package', 'removebg']]],
    ['Gemfile', "gem 'remove_bg'", [[1, 'package', 'remove_bg']]],
    ['go.mod', 'require github.com/remove-bg/go v1.0.0', [[1, 'import', 'github.com/remove-bg/go']]],
    ['composer.json', '{"require": {"mtownsend/remove-bg": "^2"}}', [[1, 'package', 'mtownsend/remove-bg']]],
    ['Dockerfile', 'RUN pip install --no-cache removebg', [[1, 'package', 'removebg']]],
    ['a.ts', "import { removeBackgroundFromImageFile } from 'remove.bg'", [[1, 'import', 'remove.bg']]],
    ['a.cjs', 'require("remove.bg").x()', [[1, 'import', 'remove.bg']]],
    ['a.py', '  from removebg import RemoveBg', [[1, 'import', 'removebg']]],
    ['a.rb', "require 'remove_bg'", [[1, 'import', 'remove_bg']]],
    ['a.go', '\t"github.com/remove-bg/go/client"', [[1, 'import', 'github.com/remove-bg/go/client']]],
    ['a.php', 'use Mtownsend\\RemoveBg\\RemoveBg;', [[1, 'import', 'Mtownsend\\RemoveBg\\RemoveBg']]],
    [
      'Dockerfile',
      'ADD https://github.com/remove-bg/go/releases/download/v1.3.1/removebg_linux.tgz /',
      [[1, 'program', 'https://github.com/remove-bg/go/releases/download/v1.3.1/removebg_linux.tgz']],
    ],
    ['a.sh', 'removebg --api-key "$KEY" a.jpg', [[1, 'program', 'removebg']]],
    ['.env', 'REMOVE_BG_API_KEY=s3cret', [[1, 'variable', 'REMOVE_BG_API_KEY']]],
    ['.github/workflows/a.yml', 'x: $REMOVEBG_KEY', [[1, 'variable', 'REMOVEBG_KEY']]],
    ['a.js', 'config.removeBgApiKey', [[1, 'variable', 'removeBgApiKey']]],
  ])('%s: %s', (file, text, uses) => {
    expect(find(file, text)).toEqual(uses)
  })

  it.each([
    ['a.py', 'import rembg'],
    ['a.ts', 'removeBackground(image)'],
    ['a.js', "'https://api.remove.bg.example.com/'"],
    ['a.js', "'https://my-api.remove.bgs/'"],
    ['a.sh', 'removebg_dir=photos'],
    ['a.md', 'remove.bg closes'],
  ])('%s: nothing in %s', (file, text) => {
    expect(find(file, text)).toEqual([])
  })

  it('prints no value of a variable', () => {
    const uses = findUses('REMOVE_BG_API_KEY=s3cret', { file: '.env', serviceUrl })
    expect(JSON.stringify(uses)).not.toContain('s3cret')
  })

  it('replaces hosts in URLs, and keeps everything else byte by byte', () => {
    const text = '\ufeffa\r\nfetch("https://api.remove.bg/v1.0/account") // https://api.remove.bg\r\n'
    const changed = '\ufeffa\r\nfetch("https://matte.example.com/v1.0/account") // https://matte.example.com\r\n'
    expect(change('a.js', text)).toBe(changed)
    expect(change('a.js', changed)).toBe(changed)
    expect(change('a.json', '"https:\\/\\/api.remove.bg\\/v1.0"', 'https://m.example/x')).toBe(
      '"https:\\/\\/m.example\\/x\\/v1.0"',
    )
  })

  it('replaces a bare host only where https without a path takes its place, and in no document', () => {
    expect(change('a.conf', 'server api.remove.bg;')).toBe('server matte.example.com;')
    expect(change('a.conf', 'server api.remove.bg;', 'http://127.0.0.1:8080')).toBe('server api.remove.bg;')
    expect(change('a.conf', 'server api.remove.bg;', 'https://example.com/matte')).toBe('server api.remove.bg;')
    expect(change('a.md', 'We call api.remove.bg today.')).toBe('We call api.remove.bg today.')
  })

  it('takes linear time for many uses', () => {
    expect(findUses('https://api.remove.bg '.repeat(10_000), { file: 'a.log', serviceUrl })).toHaveLength(10_000)
  })

  it('takes linear time for a long line', () => {
    const text = `${'remove-bg'.repeat(40_000)} ${'npm install '.repeat(20_000)} ${' '.repeat(100_000)}`
    expect(findUses(text, { file: 'package.json', serviceUrl }).length).toBeLessThan(3)
  })
})
