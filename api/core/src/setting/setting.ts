/** Settings that operators change at run time. None is a secret. */
export type Settings = {
  readonly maintenance: boolean
  readonly batchEnabled: boolean
  readonly dispatchPaused: boolean
  readonly allowedTargets: readonly string[]
}

const names = {
  maintenance: 'maintenance',
  batchEnabled: 'batchEnabled',
  dispatchPaused: 'dispatchPaused',
  'webhooks.allowedTargets': 'allowedTargets',
} as const

export const defaultSettings: Settings = {
  maintenance: false,
  batchEnabled: true,
  dispatchPaused: false,
  allowedTargets: [],
}

export type SettingName = keyof typeof names
export const settingNames = Object.keys(names) as SettingName[]

export const settingOf = (settings: Settings, name: SettingName): boolean | readonly string[] => settings[names[name]]
