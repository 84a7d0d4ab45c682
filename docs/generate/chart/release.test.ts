import { describe, expect, it } from 'vitest'
import { listChanges } from './release.ts'

describe('listChanges', () => {
  it('takes the first sentence of each entry of the newest section', () => {
    const changelog =
      '# Changelog\n\n## Unreleased\n\n- One thing\n  over two lines. And more.\n- Two: a, b.\n\n## 0.1.0\n\n- Old.\n'
    expect(listChanges(changelog)).toEqual(['One thing over two lines', 'Two'])
  })

  it('skips an empty section', () => {
    expect(() => listChanges('# Changelog\n\n## Unreleased\n')).toThrow('no entries')
  })
})
