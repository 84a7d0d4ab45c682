import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { noEffects } from './effects.ts'
import { writeCode } from './request-code.ts'

const request = {
  baseUrl: 'https://matte.example.com/api/v1',
  fileName: 'chair.jpg',
  contentType: 'image/jpeg',
  effects: { ...noEffects, format: 'webp', background: '#ffffff', crop: true, cropMargin: 5 } as const,
}

/** Names that break a program which does not quote them. */
const hostile = [`it's "a" $(touch /tmp/x) \`id\`.jpg`, '</script><b>.png', 'two words.jpg', '-rf.jpg']

describe('the request as a program', () => {
  it('names the options of the command line', () => {
    expect(writeCode('cli', request)).toContain(
      `npx matte-cli cut chair.jpg --format webp --background '#ffffff' --crop --crop-margin 5%`,
    )
  })

  it('names the options of both clients', () => {
    expect(writeCode('typescript', request)).toContain(
      `removeBackground('chair.jpg', { format: 'webp', background: '#ffffff', crop: true, cropMargin: '5%' })`,
    )
    expect(writeCode('python', request)).toContain(
      'remove_background("chair.jpg", format="webp", background="#ffffff", crop=True, crop_margin="5%")',
    )
  })

  it('names a shadow in every language', () => {
    const shaded = { ...request, effects: { ...noEffects, shadow: 'contact' } as const }
    expect(writeCode('cli', shaded)).toContain('npx matte-cli cut chair.jpg --shadow contact')
    expect(writeCode('typescript', shaded)).toContain(`{ shadow: { kind: 'contact' } }`)
    expect(writeCode('python', shaded)).toContain('remove_background("chair.jpg", shadow={"kind":"contact"})')
    expect(writeCode('curl', shaded)).toContain('output: {"shadow":{"kind":"contact"}}')
  })

  it.each(hostile)('quotes the name %s for a shell', (fileName) => {
    for (const language of ['cli', 'curl'] as const) {
      const code = writeCode(language, { ...request, fileName })
      execFileSync('bash', ['-n', '-c', code])
      const words = execFileSync('bash', ['-c', `npx() { printf '%s\\0' "$@"; }; curl() { :; }; jq() { :; }\n${code}`])
      if (language === 'cli') expect(String(words).split('\0')).toContain(fileName)
    }
  })

  it.each(hostile)('quotes the name %s for Python', (fileName) => {
    const code = writeCode('python', { ...request, fileName })
    const check =
      'import ast, sys; print([n.value for n in ast.walk(ast.parse(sys.stdin.read())) if isinstance(n, ast.Constant)])'
    expect(String(execFileSync('python3', ['-c', check], { input: code }))).toBeTruthy()
  })
})
