// Where a test's server listens when only that it listens matters.

export const ANY_PORT = { type: 'tcp', host: '127.0.0.1', port: 0 } as const
