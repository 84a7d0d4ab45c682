// Names of browser and system in a User-Agent, for people to recognise their sessions.

// The first match counts: Edge and Opera also name Chrome, and Chrome names Safari.
const browsers = [
  [/Edg(e|A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/(Firefox|FxiOS)\//, 'Firefox'],
  [/(Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
  [/matte-cli/, 'matte-cli'],
  [/curl\//, 'curl'],
  [/(node|undici)/i, 'Node.js'],
  [/python/i, 'Python'],
] as const

const systems = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
] as const

export type Device = { readonly browser?: string | undefined; readonly system?: string | undefined }

export function readDevice(userAgent: string | null): Device {
  const find = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1]
  return { browser: find(browsers), system: find(systems) }
}
