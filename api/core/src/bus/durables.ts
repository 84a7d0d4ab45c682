// Every durable consumer, declared once.
export type Durable = { readonly name: string; readonly filter: string }

export const durables = {
  taskNudges: (prefix: string): Durable => ({ name: 'controller', filter: `${prefix}.task.>` }),
  deliveryNudges: (prefix: string): Durable => ({ name: 'dispatcher', filter: `${prefix}.delivery` }),
} as const
