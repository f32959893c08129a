// Encodes and reads the payload of SETTINGS frames (RFC 9113, section 6.5).

import {
  ConnectionError,
  DEFAULT_MAX_FRAME_SIZE,
  ErrorCode,
  MAX_WINDOW,
  Setting,
} from './protocol.js'

const SETTING_BYTES = 6

/** Returns the payload of a SETTINGS frame (section 6.5.1). */
export function encodeSettings(
  settings: readonly (readonly [id: number, value: number])[],
): Buffer {
  const payload = Buffer.alloc(settings.length * SETTING_BYTES)
  settings.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * SETTING_BYTES)
    payload.writeUInt32BE(value, index * SETTING_BYTES + 2)
  })
  return payload
}

/** Reads a SETTINGS payload; callers ignore unknown settings (section 6.5.2). @throws {ConnectionError} */
export function readSettings(payload: Buffer): readonly (readonly [id: number, value: number])[] {
  if (payload.length % SETTING_BYTES !== 0)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'SETTINGS of a broken length')
  return Array.from({ length: payload.length / SETTING_BYTES }, (_, index) => {
    const id = payload.readUInt16BE(index * SETTING_BYTES)
    const value = payload.readUInt32BE(index * SETTING_BYTES + 2)
    expectAllowed(id, value)
    return [id, value] as const
  })
}

const MAX_MAX_FRAME_SIZE = 2 ** 24 - 1

function expectAllowed(id: number, value: number): void {
  if (id === Setting.ENABLE_PUSH && value > 1)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'ENABLE_PUSH is neither 0 nor 1')
  if (id === Setting.INITIAL_WINDOW_SIZE && value > MAX_WINDOW)
    throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'INITIAL_WINDOW_SIZE above 2^31-1')
  if (
    id === Setting.MAX_FRAME_SIZE &&
    (value < DEFAULT_MAX_FRAME_SIZE || value > MAX_MAX_FRAME_SIZE)
  )
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'MAX_FRAME_SIZE out of its range')
}
