// Every route of the App API in its specification, below /api/v1/app.
const modules: Readonly<Record<string, readonly string[]>> = {
  auth: [
    ...['POST /register', 'POST /verify-email', 'POST /verify-email/resend', 'POST /login', 'POST /refresh'],
    ...['POST /2fa/verify', 'POST /2fa/setup', 'POST /2fa/enable', 'POST /2fa/disable', 'POST /2fa/recovery-codes'],
    ...['POST /logout', 'POST /logout-all', 'GET /sessions', 'DELETE /sessions/{sessionId}'],
    'POST /sessions/current/proof',
    ...['POST /password/forgot', 'POST /password/reset', 'POST /password/change'],
    ...['POST /email/change', 'POST /email/confirm'],
  ],
  users: [
    ...['GET /profile', 'PATCH /profile', 'DELETE /profile', 'GET /subscription', 'GET /login-history'],
    ...['GET /workspaces', 'POST /workspaces/{workspaceId}/switch', 'GET /export'],
  ],
  tasks: [
    ...['POST /uploads/fetch'],
    ...['POST /uploads/presign', 'POST /images', 'GET /images', 'GET /images/{taskId}', 'DELETE /images/{taskId}'],
    ...[
      'GET /images/{taskId}/events',
      'GET /images/{taskId}/download',
      'GET /images/{taskId}/input',
      'GET /images/{taskId}/preview',
      'POST /images/{taskId}/retry',
      'DELETE /images/{taskId}/images',
      'GET /retention',
      'PUT /retention',
    ],
    ...['POST /batch', 'GET /batch', 'GET /batch/{batchId}', 'DELETE /batch/{batchId}', 'GET /stream'],
  ],
  credits: [
    ...['GET /balance', 'GET /ledger', 'GET /lots', 'GET /expiry-alerts', 'GET /alert-settings', 'PUT /alert-settings'],
  ],
  payments: [
    ...['GET /plans', 'GET /credit-packs', 'POST /orders', 'GET /orders', 'GET /orders/{orderId}'],
    ...['POST /orders/{orderId}/cancel', 'POST /refunds', 'GET /refunds', 'GET /refunds/{refundId}'],
    ...['GET /invoices', 'GET /invoices/{invoiceId}', 'GET /invoices/{invoiceId}/pdf'],
    ...['GET /subscription', 'POST /subscription/change', 'POST /subscription/cancel', 'POST /subscription/resume'],
    ...['POST /providers/{provider}/events', 'POST /sandbox/checkout/{orderId}', 'POST /sandbox/disputes/{orderId}'],
  ],
  notifications: [
    ...['GET /', 'GET /unread-count', 'POST /{notificationId}/read', 'POST /read-all'],
    ...['GET /preferences', 'PUT /preferences'],
  ],
  referral: ['GET /', 'GET /invitations', 'POST /invitations'],
  teams: [
    ...['POST /', 'GET /', 'GET /{teamId}', 'PATCH /{teamId}', 'DELETE /{teamId}', 'GET /{teamId}/members'],
    ...['PATCH /{teamId}/members/{userId}', 'DELETE /{teamId}/members/{userId}', 'POST /{teamId}/transfer'],
    ...['POST /{teamId}/invites', 'GET /{teamId}/invites', 'DELETE /{teamId}/invites/{inviteId}'],
    ...['POST /invites/accept', 'GET /{teamId}/credits', 'PUT /{teamId}/credits/limits'],
    ...['GET /{teamId}/billing', 'PATCH /{teamId}/billing', 'GET /{teamId}/audit-log', 'PUT /{teamId}/key-policy'],
    'GET /{teamId}/audit-log/export',
  ],
  developer: [
    ...['GET /api-keys', 'POST /api-keys', 'POST /api-keys/{apiKeyId}/roll', 'DELETE /api-keys/{apiKeyId}'],
    ...['GET /webhooks', 'POST /webhooks', 'GET /webhooks/callback-deliveries', 'GET /webhooks/{webhookId}'],
    ...['PATCH /webhooks/{webhookId}', 'DELETE /webhooks/{webhookId}', 'POST /webhooks/{webhookId}/test'],
    ...['POST /webhooks/{webhookId}/rotate-secret', 'GET /webhooks/{webhookId}/deliveries'],
    ...['POST /webhooks/{webhookId}/recover', 'POST /webhooks/deliveries/{deliveryId}/redeliver'],
    ...['POST /webhooks/{webhookId}/samples', 'GET /webhooks/{webhookId}/stats', 'GET /webhooks/events/{eventId}'],
    ...['GET /webhooks/deliveries/{deliveryId}', 'GET /webhooks/egress-addresses'],
    ...[
      'GET /signing-secret',
      'POST /signing-secret/rotate',
      'GET /usage',
      'GET /usage/detail',
      'GET /event-catalog',
      'GET /models',
    ],
  ],
}

export const expectedRoutes: readonly string[] = Object.entries(modules).flatMap(([module, routes]) =>
  routes.map((route) => route.replace(' /', ` /api/v1/app/${module}/`).replace(/\/$/, '')),
)
