// What the page needs of reckon.models/1.
export interface Preset {
  name: string;
  family: string;
  parameters: number;
}
