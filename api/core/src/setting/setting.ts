/** Settings that operators change while the service runs (D53, D67). None is a secret. */
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

/** Values until an operator changes them. */
export const defaultSettings: Settings = {
  maintenance: false,
  batchEnabled: true,
  dispatchPaused: false,
  allowedTargets: [],
}

export type SettingName = keyof typeof names
export const settingNames = Object.keys(names) as SettingName[]

/** Value of one setting by the name that operators use. */
export const settingOf = (settings: Settings, name: SettingName): boolean | readonly string[] => settings[names[name]]
