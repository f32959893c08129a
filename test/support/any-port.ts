// The listening address for test servers whose port does not matter.

export const ANY_PORT = { type: 'tcp', host: '127.0.0.1', port: 0 } as const
