import type { ColumnType, Generated } from 'kysely'

/** Switches and lists that operators change at run time (D53, D67); in force on every replica within 5 s. */
export type SettingTable = {
  name: string
  value: ColumnType<boolean | string[], string, string>
  updated_at: Generated<Date>
}
