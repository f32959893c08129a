// There is no Envoy that we could start. The message is a sentence for a person, with the remedy.

export class EnvoyNotFound extends Error {
  override readonly name = 'EnvoyNotFound'
}
