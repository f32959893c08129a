// A kind of object that a mesh reads.

export interface MeshKind {
  readonly group: string
  readonly kind: string
  readonly versions: readonly string[]
}
