import type { Role } from '@matte/core/workspace/role'

const roles: Readonly<Record<Role, string>> = {
  owner: 'Inhaber',
  admin: 'Administrator',
  billing: 'Abrechnung',
  member: 'Mitglied',
}

export const germanRole = (role: string): string => (roles as Readonly<Record<string, string>>)[role] ?? role
