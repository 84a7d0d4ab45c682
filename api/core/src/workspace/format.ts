// Image formats by the interface's names.
export type InputFormat = 'png' | 'jpeg' | 'webp'
export type OutputFormat = 'png' | 'webp' | 'jpeg'
export const mimeTypes = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp' } as const
