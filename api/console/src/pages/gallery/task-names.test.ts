import { describe, expect, it } from 'vitest'
import { createUniqueNames, resultName, sourceName } from './task-names.ts'

const key = 'private-uploads/2026/11/9c2fe413-8d75-4ec9-b861-7c6423544554'

describe('names of files', () => {
  it('are those of the uploads', () => {
    expect(sourceName({ sourceUrl: `${key}-my-cat.jpg` })).toBe('my-cat.jpg')
    expect(sourceName({ sourceUrl: 'elsewhere/cat.jpg' })).toBe('cat.jpg')
  })

  it('end as the format of the result', () => {
    expect(resultName({ sourceUrl: `${key}-cat.v2.jpg`, resultFormat: 'webp' })).toBe('cat.v2.webp')
    expect(resultName({ sourceUrl: `${key}-cat`, resultFormat: 'jpeg' })).toBe('cat.jpg')
    expect(resultName({ sourceUrl: `${key}-.jpg`, resultFormat: null })).toBe('image.png')
  })

  it('are unique within an archive, whatever their case', () => {
    const unique = createUniqueNames()
    expect(['cat.png', 'CAT.png', 'cat.png', 'cat (2).png', 'dog'].map(unique)).toEqual([
      'cat.png',
      'CAT (2).png',
      'cat (3).png',
      'cat (2) (2).png',
      'dog',
    ])
  })
})
